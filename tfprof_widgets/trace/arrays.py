"""Names of the array types that columns have."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
UInt64 = npt.NDArray[np.uint64]
UInt8 = npt.NDArray[np.uint8]
Float64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]
AnyInt = npt.NDArray[np.integer]
AnyUInt = npt.NDArray[np.unsignedinteger]
SmallInt = npt.NDArray[np.int16 | np.int32]
"""Small numbers of which each event has one, -1 for none: in 16 bits where they fit."""
