"use strict";
// Start the parts in the order in which they need each other.
for (const part of document.querySelectorAll("#explorer, .scripted")) part.hidden = false;
gpm.startGraph();
gpm.startViews();
gpm.startPanel();
gpm.startTables();
gpm.startResampled();
gpm.startMatrix();
gpm.startDownloads();
gpm.startControls();
gpm.restoreView();
gpm.startAddress();
document.documentElement.dataset.ready = "yes";
