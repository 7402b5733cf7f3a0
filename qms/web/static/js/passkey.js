// Signs a form with a passkey: reads request options from a JSON block, asks the browser, fills the hidden field
// `response` and sends the form. Texts come from the page, so they follow its language.
"use strict";
(() => {
  const toBytes = (text) => {
    const base64 = text.replace(/-/g, "+").replace(/_/g, "/");
    const binary = atob(base64.padEnd(Math.ceil(base64.length / 4) * 4, "="));
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  };

  const toText = (buffer) => {
    let binary = "";
    for (const byte of new Uint8Array(buffer)) binary += String.fromCharCode(byte);
    return btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  };

  const requestOptions = (json) => {
    const options = { ...(json.publicKey || json) };
    options.challenge = toBytes(options.challenge);
    options.allowCredentials = (options.allowCredentials || []).map((one) => ({ ...one, id: toBytes(one.id) }));
    return options;
  };

  const answer = (credential) => JSON.stringify({
    id: credential.id,
    rawId: toText(credential.rawId),
    type: credential.type,
    authenticatorAttachment: credential.authenticatorAttachment,
    clientExtensionResults: credential.getClientExtensionResults(),
    response: {
      clientDataJSON: toText(credential.response.clientDataJSON),
      authenticatorData: toText(credential.response.authenticatorData),
      signature: toText(credential.response.signature),
      userHandle: credential.response.userHandle ? toText(credential.response.userHandle) : null,
    },
  });

  const setUp = (block) => {
    const status = document.querySelector("[data-passkey-status]");
    const field = status.closest("form").elements.namedItem("response");
    const form = field.form;
    let busy = false;

    const say = (kind) => {
      status.className = kind === "waiting" ? "notice" : "notice notice--bad";
      status.setAttribute("role", kind === "waiting" ? "status" : "alert");
      const text = document.createElement("div");
      text.textContent = status.dataset[kind];
      status.replaceChildren(text);
    };

    const sign = async (submitter) => {
      if (!window.PublicKeyCredential || !navigator.credentials) { say("unsupported"); return; }
      busy = true;
      say("waiting");
      try {
        const credential = await navigator.credentials.get({ publicKey: requestOptions(JSON.parse(block.textContent)) });
        field.value = answer(credential);
        form.requestSubmit(submitter);
      } catch (error) {
        say(error.name === "NotAllowedError" || error.name === "AbortError" ? "cancelled" : "failed");
      } finally {
        busy = false;
      }
    };

    form.addEventListener("submit", (event) => {
      if (field.value || (event.submitter && event.submitter.hasAttribute("data-no-passkey"))) return;
      event.preventDefault();
      if (!busy) sign(event.submitter);
    });
  };

  const block = document.getElementById("passkey-optionen");
  if (block) setUp(block);
})();
