import pytest

from tfprof_widgets.analysis import OpCategory, parse_op_names


@pytest.mark.parametrize(
    ("full", "category", "op_type", "name"),
    [
        ("model/dense/MatMul:MatMul", OpCategory.TENSORFLOW, "MatMul", "model/dense/MatMul"),
        ("a.b>c-d_1/x:_Retval", OpCategory.TENSORFLOW, "_Retval", "a.b>c-d_1/x"),
        ("scope/Add_12:", OpCategory.TENSORFLOW, "Add", "scope/Add_12"),
        ("Iterator::Root::Map", OpCategory.TFDATA, "Dataset", "Iterator::Root::Map"),
        ("jit(f)/dot_general:dot_general[x=1]", OpCategory.JAX, "dot_general", "jit(f)/dot_general"),
        ("jit(f)/add_3:", OpCategory.JAX, "add", "jit(f)/add_3"),
        ("MemcpyHtoD", OpCategory.MEMCPY_HTOD, "MemcpyHToD", "MemcpyHtoD"),
        ("MEMCPYDtoHAsync", OpCategory.MEMCPY_DTOH, "MemcpyDToH", "MEMCPYDtoHAsync"),
        ("MemcpyH2D", OpCategory.UNKNOWN, "", "MemcpyH2D"),
        ("ThreadpoolListener::Record", OpCategory.UNKNOWN, "", "ThreadpoolListener::Record"),
        ("EagerLocalExecute: MatMul", OpCategory.UNKNOWN, "", "EagerLocalExecute: MatMul"),
        ("a;b:MatMul", OpCategory.UNKNOWN, "", "a;b:MatMul"),
        ("train", OpCategory.UNKNOWN, "", "train"),
        ("", OpCategory.UNKNOWN, "", ""),
        ("a:B\n", OpCategory.UNKNOWN, "", "a:B\n"),
    ],
)
def test_a_full_name_splits_into_category_type_and_name(
    full: str, category: OpCategory, op_type: str, name: str
) -> None:
    parsed = parse_op_names([full])
    assert (parsed.category[0], parsed.type[0], parsed.name[0]) == (category, op_type, name)


def test_no_names_give_no_ops() -> None:
    parsed = parse_op_names([])
    assert len(parsed.category) == len(parsed.type) == len(parsed.name) == 0
