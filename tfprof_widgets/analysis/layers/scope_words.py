"""Words of name scopes that have a meaning: what TensorFlow, Keras and graph rewriting call things."""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


OPTIMIZERS = _words(
    """
    adadelta adafactor adagrad adam adam_w adamax adamw ftrl lamb lion loss_scale_optimizer momentum muon nadam rmsprop
    rm_sprop schedule_free_adam_w sgd gradient_descent adamweightdecay adam_weight_decay
    """
)
"""Scopes of optimizers by default, in lower case."""
REWRITERS = _words(
    """
    ArithmeticOptimizer ConstantFolding LayoutOptimizer Remapper DependencyOptimizer LoopOptimizer MemoryOptimizer
    AutoMixedPrecision AutoMixedPrecisionMkl PinToHostOptimizer CommonSubgraphElimination FunctionOptimizer
    """
)
"""What Grappler's passes put into names."""
LOSSES = _words(
    """
    compile_loss loss losses
    binary_crossentropy binary_focal_crossentropy categorical_crossentropy categorical_focal_crossentropy
    sparse_categorical_crossentropy mean_squared_error mean_absolute_error mean_absolute_percentage_error
    mean_squared_logarithmic_error mse mae mape msle huber huber_loss log_cosh poisson kl_divergence
    kullback_leibler_divergence cosine_similarity hinge squared_hinge categorical_hinge dice tversky ctc circle
    softmax_cross_entropy_loss logistic_loss
    """
)
"""Scopes of losses: that of Keras' `compile`, and those that a loss opens which a step written by hand calls."""
METRICS = frozenset(("compile_metrics", "metrics", "metric"))
FUNCTIONS = _words(
    """
    sub mul truediv floordiv mod pow neg abs div_no_nan strided_slice packed range zeros ones zeros_like
    ones_like eye fill concat stack unstack split transpose convolution depthwise
    max_pool avg_pool moments batchnorm l2_normalize normalize
    stateless_dropout stateless_random_uniform stateless_random_normal stateless_truncated_normal random_uniform
    random_normal truncated_normal random_shuffle einsum tensordot matmul mean sum prod variance reduce_sum
    reduce_mean while cond case switch_case map map_fn scan clip_by_norm clip_by_value clip_by_global_norm
    global_norm embedding_lookup one_hot sigmoid_cross_entropy_loss softmax_cross_entropy_with_logits
    sparse_softmax_cross_entropy_with_logits assert assert_equal assert_less broadcast_weights cumsum
    gather boolean_mask resize random_flip_left_right update cond_grad while_grad optional iterator Tensordot
    Gelu TensorArrayUnstack TensorArrayV2Stack TensorArrayV2Read TensorArrayV2Write TensorArrayStack Pad
    Initializer read ReadVariableOp
    """
)
"""Scopes, without their numbers, that the Python functions of TensorFlow and Keras open for themselves."""
OPS = _words(
    """
    Abs Add AddN AddV2 ArgMax AvgPool AvgPool2d BatchMatMul BatchMatMulV2 BiasAdd BroadcastTo Cast Concat
    ConcatV2 Conv1D Conv2D Conv2DTranspose Conv3D DepthwiseConv2dNative Div Einsum Elu Erf Exp ExpandDims
    FusedBatchNorm FusedBatchNormV3 Gather GatherV2 LeakyRelu Log LogSoftmax MatMul Max MaxPool MaxPool2d
    MaxPool3d Maximum Mean Min Minimum Mul Neg Pad PadV2 Pow Prod RealDiv Relu Relu6 Reshape ResourceGather Rsqrt
    Select SelectV2 Selu Sigmoid Slice Softmax Softplus Softsign SparseSoftmaxCrossEntropyWithLogits
    SoftmaxCrossEntropyWithLogits Split SplitV Sqrt Square SquaredDifference Squeeze StridedSlice Sub Sum Tanh
    Tile TopKV2 Transpose UnsortedSegmentSum Repeat
    Swish Silu Hardswish Expm1 Floor Round Sign Shape Pack Unpack Fill Conv2DBackpropInput
    """
)
"""Ops that stand as scopes: of the reading of their operands, and of their gradients where they were fused away."""
AMBIGUOUS = FUNCTIONS | _words("add subtract multiply average maximum minimum dot reshape activation")
"""Names of layers that are rather those of an op or function where no such layer is expected."""
TWINS = _words(
    """
    dropout separable_conv2d depthwise_conv2d conv1d conv2d conv3d conv1d_transpose conv2d_transpose conv3d_transpose
    embedding softmax layer_normalization batch_normalization
    """
)
"""Names both of a layer and of a scope that TensorFlow's function opens within it."""
VENDOR = re.compile(r"_?(Mkl)?(Native)?(Fused)?(?=[A-Z])")
"""What oneDNN puts before the type of an op that it took over."""
