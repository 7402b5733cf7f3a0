// Small conveniences. Every page works without this file.
"use strict";
(() => {
  const showCopyButtons = (root) => {
    if (!navigator.clipboard) return;
    for (const button of root.querySelectorAll("button[data-copy][hidden]")) button.hidden = false;
  };

  const copy = async (button) => {
    await navigator.clipboard.writeText(button.dataset.copy);
    const text = button.querySelector("[data-copy-text]");
    const before = text.textContent;
    text.textContent = button.dataset.done;
    text.className = "";
    text.setAttribute("role", "status");
    setTimeout(() => { text.textContent = before; text.className = "sr"; text.removeAttribute("role"); }, 2000);
  };

  const closeMenus = (except) => {
    for (const menu of document.querySelectorAll("details[data-menu][open]")) if (menu !== except) menu.open = false;
  };

  document.addEventListener("click", (event) => {
    const target = event.target;
    closeMenus(target.closest("details[data-menu]"));
    const button = target.closest("button[data-copy]");
    if (button) copy(button);
    const opener = target.closest("[data-dialog]");
    if (opener) {
      const dialog = document.getElementById(opener.dataset.dialog);
      if (dialog) { event.preventDefault(); dialog.showModal(); }
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const menu = document.querySelector("details[data-menu][open]");
    if (menu) { menu.open = false; menu.querySelector("summary").focus(); }
  });

  // A file above the limit is refused before a minute of sending.
  document.addEventListener("change", ({ target }) => {
    if (!target.dataset.maxBytes) return;
    const tooLarge = [...target.files].some((file) => file.size > Number(target.dataset.maxBytes));
    target.setCustomValidity(tooLarge ? target.dataset.tooLarge : "");
    target.reportValidity();
  });

  document.addEventListener("htmx:xhr:progress", (event) => {
    const upload = event.target.querySelector("[data-upload]");
    if (!upload || !event.detail.total) return;
    upload.hidden = false;
    upload.querySelector("progress").value = event.detail.loaded / event.detail.total;
  });

  // An upload that is refused shows its page; what has no page (connection lost) goes the plain way.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { detail } = event;
    if ([403, 404, 409, 413, 422].includes(detail.xhr.status)) Object.assign(detail, { shouldSwap: true, isError: false });
  });
  for (const failure of ["htmx:responseError", "htmx:sendError"]) document.addEventListener(failure, (event) => {
    if (event.target.querySelector("[data-upload]")) event.target.submit();
  });

  document.addEventListener("htmx:load", (event) => showCopyButtons(event.target));
  showCopyButtons(document);
})();
