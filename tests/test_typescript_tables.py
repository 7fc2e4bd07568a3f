"""The rows of tables in TypeScript are what the declarations say."""

from __future__ import annotations

from tools import typescript


def test_the_interfaces_are_those_of_the_declarations() -> None:
    assert typescript.FILE.read_text(encoding="utf-8") == typescript.interfaces(), "run `python -m tools.typescript`"


def test_a_field_has_the_type_of_its_column() -> None:
    text = typescript.interfaces()
    kernels, hlo_ops, layers = (
        text.partition(f"export interface {name}Row {{")[2].partition("\n}")[0]
        for name in ("Kernels", "HloOps", "Layers")
    )
    assert "  readonly min_time_us?: number;" in kernels
    assert "  readonly flops: number | null;" in hlo_ops
    assert '  readonly kind: "layer" | "loss" | "metrics" | "optimizer" | "input" | "other";' in layers
    assert "  readonly allocated_bytes: number | null;" in layers
    assert "rank" not in kernels
