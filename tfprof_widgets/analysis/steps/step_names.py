"""What steps are called -> their kinds, and names of which no two of a host are equal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

_NUMBER = r"(?:\d+·)?\d+\Z"


def kinds_of(names: pd.Series[str]) -> npt.NDArray[np.object_]:
    """For each step its name without its number: `train`, `test`."""
    kinds: npt.NDArray[np.object_] = names.str.replace(rf"\s*{_NUMBER}", "", regex=True).to_numpy(np.object_)
    return kinds


def distinct_names(names: Sequence[str], hosts: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
    """Tell apart the steps of a host that were marked alike.

    Args:
        names: of steps by start, such as `train 3`.
        hosts: of each step.

    Returns:
        The names. Where the numbers of a host's steps of one kind repeat, since they start again with each epoch, `train 2·3`
        is step 3 of the epoch 2, counted from 1; where neighbours have one number, steps are counted instead: `train 0`,
        `train 1`.
    """
    step = pd.DataFrame({"host": hosts, "name": np.array(names, np.object_)})
    if not step.duplicated().any():
        return step["name"].to_numpy(np.object_)
    step["kind"] = step["name"].str.replace(r"\d+\Z", "", regex=True)
    digits = step["name"].str.extract(r"(\d+)\Z", expand=False)
    step["number"] = digits.astype(float).fillna(-1)
    kind = [step["host"], step["kind"]]
    before = step.groupby(kind)["number"].shift()
    epoch = (step["number"] < before).groupby(kind).cumsum() + 1
    repeats = step.duplicated(["host", "name"]).groupby(kind).transform("any")
    is_counted = (step["number"] == before).groupby(kind).transform("any")
    in_epoch = step["kind"] + epoch.astype(str) + "·" + digits.fillna("")
    space = np.where(digits.isna(), " ", "")
    counted = step["kind"] + space + step.groupby(kind).cumcount().astype(str)
    found = step["name"].mask(repeats, in_epoch).mask(repeats & is_counted, counted)
    return found.to_numpy(np.object_)
