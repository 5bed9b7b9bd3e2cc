const form = document.querySelector("#sign-in");
const page = document.querySelector("#page");

const post = (path, value = {}) =>
  fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(value),
  });

async function showOrders() {
  const response = await fetch("/api/orders"); // the browser adds the cookie
  form.hidden = response.status !== 401; // 401: nobody is signed in
  page.hidden = !form.hidden;
  document.querySelector("#orders").textContent = await response.text();
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  await post("/api/login", Object.fromEntries(new FormData(form)));
  await showOrders();
});
document.querySelector("#sign-out").addEventListener("click", async () => {
  await post("/api/logout");
  await showOrders();
});
await showOrders();
