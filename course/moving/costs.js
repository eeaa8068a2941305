
(() => {
  const root = document.currentScript.parentElement;
  const { values, rows } = JSON.parse(root.querySelector('script[type="application/json"]').textContent);
  const sliders = [...root.querySelectorAll("input")];
  const results = root.querySelectorAll("dd");
  const picture = root.querySelector("svg");
  const [computing, waiting] = picture.querySelectorAll("rect");
  const [computes, waits] = picture.querySelectorAll("rect ~ text");
  const curve = picture.querySelector("polyline");
  const dot = picture.querySelector("circle");

  function show() {
    const chosen = sliders.map((slider, number) => values[number][slider.value]);
    const [model, network, speed, gpus] = sliders.map((slider) => Number(slider.value));
    const [points, cells] = rows[model][network][speed];
    const [width, ...texts] = cells[gpus];
    sliders.forEach((slider, number) => {
      slider.previousElementSibling.querySelector("b").textContent = chosen[number];
      slider.setAttribute("aria-valuetext", chosen[number]);
    });
    root.querySelector(".moving-caption").textContent =
      `${chosen[3]} GPU${gpus ? "s" : ""} train${gpus ? "" : "s"} ${chosen[0]} in ${texts[5]}, for ${texts[6]}.`;
    [computes.textContent, waits.textContent] = texts;
    results.forEach((result, number) => { result.textContent = texts[number + 2]; });
    computing.setAttribute("width", width);
    waiting.setAttribute("x", width);
    waiting.setAttribute("width", picture.viewBox.baseVal.width - width);
    curve.setAttribute("points", points);
    const [x, y] = points.split(" ")[gpus].split(",");
    dot.setAttribute("cx", x);
    dot.setAttribute("cy", y);
    picture.setAttribute("aria-label", `Efficiency over the number of GPUs. A step: ${texts[0]}, ${texts[1]}.`);
  }

  sliders.forEach((slider) => slider.addEventListener("input", show));
  root.addEventListener("keydown", (event) => event.stopPropagation()); // or JupyterLab would act on the arrow keys
  root.querySelector(".moving-controls").hidden = false;
  show();
})();
