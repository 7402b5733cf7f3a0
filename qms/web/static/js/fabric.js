// Steps through the frames of a small fabric without asking the server again. Without this file the links do the same.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("takte").textContent);
  const { width, frames } = data;
  const one = (name, root = document) => root.querySelector(`[data-${name}]`);
  const pictures = document.querySelectorAll("[data-picture]");
  const play = one("play");
  const slide = document.getElementById("bild");
  const missed = one("missed");
  const sentence = one("sentence");
  const words = [play.textContent, play.dataset.stop];
  let index = data.index;
  let timer = 0;

  const nameOf = (p) => `(${p % width},${Math.floor(p / width)})`;

  const movesOf = (text) => text ? text.split(";").map((move) => {
    const [p, side, color, value] = move.split(" ");
    return [Number(p), side, color, value];
  }) : [];

  const used = (id, p) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", "use");
    element.setAttribute("href", `#${id}`);
    element.setAttribute("x", (p % width) * 100 + 50);
    element.setAttribute("y", Math.floor(p / width) * 100 + 50);
    return element;
  };

  const draw = (picture, doing, held, moves) => {
    const name = picture.dataset.picture;
    one("elements", picture).replaceChildren(...[...doing].map((letter, p) => used(`${name}-${letter}`, p)));
    one("moves", picture).replaceChildren(
      ...moves.filter(([, side]) => side !== "R").map(([p, side, color]) => used(`${name}-${color}${side}`, p)));
    const counts = one("held", picture);
    if (counts) held.forEach((count, p) => { counts.children[p].textContent = count || ""; });
  };

  const tell = (doing, held, moves) => {
    for (const cell of document.querySelectorAll("[data-doing]"))
      cell.textContent = [...doing].flatMap((letter, p) => letter === cell.dataset.doing ? [nameOf(p)] : []).join(" ") || "–";
    one("queues").textContent = held.flatMap((count, p) => count ? [`${nameOf(p)} ${count}`] : []).join(" · ") || "–";
    one("rows").replaceChildren(...moves.map(([p, side, color, value]) => {
      const row = one("row").content.firstElementChild.cloneNode(true);
      const [right, down] = data.towards[side] || [0, 0];
      const target = side === "R" ? data.ramp : nameOf(p + right + down * width);
      [nameOf(p), target, color, value].forEach((text, at) => { row.children[at].textContent = text; });
      return row;
    }));
  };

  const show = (wanted) => {
    index = Math.max(0, Math.min(frames.length - 1, wanted));
    const [cycle, doing, queues, moving, text] = frames[index];
    const held = queues.split(" ").map(Number);
    const moves = movesOf(moving);
    for (const picture of pictures) draw(picture, doing, held, moves);
    tell(doing, held, moves);
    sentence.firstElementChild.textContent = text;
    if (missed) missed.hidden = true;
    slide.value = index;
    slide.setAttribute("aria-valuetext", text);
    for (const link of document.querySelectorAll("[data-step]"))
      link.setAttribute("aria-disabled", index === (["first", "previous"].includes(link.dataset.step) ? 0 : frames.length - 1));
    const here = new URL(location);
    here.searchParams.set("takt", cycle);
    history.replaceState(null, "", here);
  };

  // A frame a second is slow enough to read; the sentence is not read out while it changes by itself.
  const run = (on) => {
    clearInterval(timer);
    timer = on ? setInterval(() => { show(index + 1); if (index === frames.length - 1) run(false); }, 1000) : 0;
    play.textContent = words[on ? 1 : 0];
    sentence.setAttribute("aria-live", on ? "off" : "polite");
  };

  // Who steps wants to see what changes.
  const step = (wanted) => {
    run(false);
    show(wanted);
    document.getElementById("ablauf").scrollIntoView({ block: "nearest" });
  };

  const steps = { first: () => 0, previous: () => index - 1, next: () => index + 1, last: () => frames.length - 1 };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-step]");
    if (!link) return;
    event.preventDefault();
    step(steps[link.dataset.step]());
  });
  play.addEventListener("click", () => {
    const start = !timer;
    if (start && index === frames.length - 1) show(0);
    run(start);
  });
  slide.addEventListener("input", () => step(Number(slide.value)));

  slide.max = frames.length - 1;
  slide.value = index;
  slide.style.padding = 0; // the thumb reaches both ends
  one("jump").hidden = true;
  one("slide").hidden = play.hidden = false;
})();
