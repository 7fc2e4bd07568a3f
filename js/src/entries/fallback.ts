/** The script of an output that stands for a widget; see `tfprof_widgets/views/page/fallback.py`. */

import { standIn } from "../data/page";

const holder = document.currentScript?.parentElement;
if (holder) standIn(holder);
