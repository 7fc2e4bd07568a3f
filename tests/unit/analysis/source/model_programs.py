"""Trainings of the kinds of models that people bring, each as one would write it: programs for `source_programs`."""

MODELS = {
    "transformer": """
class TransformerBlock(L.Layer):
    def __init__(self, embed_dim, num_heads, ff_dim, rate=0.1):
        super().__init__()
        self.att = L.MultiHeadAttention(num_heads=num_heads, key_dim=embed_dim)
        self.ffn = keras.Sequential([L.Dense(ff_dim, activation="relu"), L.Dense(embed_dim)])
        self.layernorm1 = L.LayerNormalization(epsilon=1e-6)
        self.layernorm2 = L.LayerNormalization(epsilon=1e-6)
        self.dropout1, self.dropout2 = L.Dropout(rate), L.Dropout(rate)
    def call(self, inputs):
        attn_output = self.dropout1(self.att(inputs, inputs))
        out1 = self.layernorm1(inputs + attn_output)
        return self.layernorm2(out1 + self.dropout2(self.ffn(out1)))
class TokenAndPositionEmbedding(L.Layer):
    def __init__(self, maxlen, vocab_size, embed_dim):
        super().__init__()
        self.token_emb, self.pos_emb = L.Embedding(vocab_size, embed_dim), L.Embedding(maxlen, embed_dim)
    def call(self, x):
        positions = keras.ops.arange(0, keras.ops.shape(x)[-1], 1)
        return self.token_emb(x) + self.pos_emb(positions)
inputs = keras.Input((20,))
x = TransformerBlock(16, 2, 16)(TokenAndPositionEmbedding(20, 100, 16)(inputs))
x = L.Dropout(0.1)(L.GlobalAveragePooling1D()(x))
model = keras.Model(inputs, L.Dense(2, activation="softmax")(L.Dense(20, activation="gelu")(x)))
model.compile("adamw", "sparse_categorical_crossentropy", metrics=["accuracy"])
x, y = np.random.randint(0, 100, (64, 20)), np.random.randint(0, 2, 64)
model.fit(x, y, verbose=0)
with captured():
    model.fit(x, y, verbose=0)
""",
    "custom_step": """
class VAE(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = L.Dense(32, activation="silu", kernel_regularizer="l2")
        self.z_mean, self.z_log_var = L.Dense(8), L.Dense(8)
        self.decoder = keras.Sequential([L.Dense(32, activation="relu"), L.BatchNormalization(), L.Dense(64)])
        self.loss_tracker = keras.metrics.Mean(name="loss")
        self.mae = keras.metrics.MeanAbsoluteError(name="mae")
    @property
    def metrics(self):
        return [self.loss_tracker, self.mae]
    def call(self, x):
        h = self.hidden(x)
        return self.z_mean(h), self.z_log_var(h)
    def train_step(self, data):
        with tf.GradientTape() as tape:
            mean, log_var = self(data)
            z = mean + tf.exp(0.5 * log_var) * tf.random.normal(tf.shape(mean))
            found = self.decoder(z, training=True)
            loss = tf.reduce_mean(tf.square(found - data))
            loss -= 0.5 * tf.reduce_mean(1 + log_var - tf.square(mean) - tf.exp(log_var))
            loss += sum(self.losses)
        grads = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(grads, self.trainable_weights))
        self.loss_tracker.update_state(loss)
        self.mae.update_state(data, found)
        return {m.name: m.result() for m in self.metrics}
model = VAE()
model.compile(optimizer="adam")
x = np.random.rand(128, 64).astype("f4")
model.fit(x, verbose=0)
with captured():
    model.fit(x, verbose=0)
""",
}
