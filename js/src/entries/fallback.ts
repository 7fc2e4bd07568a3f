/** The script of an output that stands for a widget; see `tfprof_widgets/show/page.py`. */

import { standIn } from "../data/page";

const holder = document.currentScript?.parentElement;
if (holder) standIn(holder);
