
(() => {
  const root = document.currentScript.parentElement;
  const { backgrounds, rows } = JSON.parse(root.querySelector('script[type="application/json"]').textContent);
  const [outer, inner] = root.querySelectorAll("input");
  const button = root.querySelector("button");
  const caption = root.querySelector(".moving-caption");
  const picture = root.querySelector("svg");
  let timer = null;

  function label(slider, value) {
    slider.previousElementSibling.querySelector("b").textContent = value;
    slider.setAttribute("aria-valuetext", value);
  }

  function show() {
    const [outerValue, frames] = rows[outer.value];
    inner.max = frames.length - 1; // a value above it becomes the last one
    const [innerValue, height, text, described, background, drawing] = frames[inner.value];
    label(outer, outerValue);
    label(inner, innerValue);
    caption.textContent = text;
    picture.setAttribute("viewBox", `0 0 ${picture.viewBox.baseVal.width} ${height}`);
    picture.setAttribute("aria-label", `${text} ${described}`);
    picture.innerHTML = backgrounds[background] + drawing;
  }

  function pause() {
    clearInterval(timer);
    timer = null;
    button.textContent = "Play";
    caption.setAttribute("aria-live", "polite");
  }

  function next() {
    if (!root.isConnected || inner.value === inner.max) return pause();
    inner.stepUp();
    show();
    if (inner.value === inner.max) pause();
  }

  function play() {
    if (inner.value === inner.max) inner.value = 0;
    caption.setAttribute("aria-live", "off"); // or a screen reader would never finish a caption
    button.textContent = "Pause";
    timer = setInterval(next, 1500);
    show();
  }

  outer.addEventListener("input", show);
  inner.addEventListener("input", show);
  root.addEventListener("keydown", (event) => event.stopPropagation()); // or JupyterLab would act on the arrow keys
  if (button) button.addEventListener("click", () => (timer ? pause() : play()));
  root.querySelector(".moving-controls").hidden = false;
  show();
})();
