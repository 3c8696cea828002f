// The question and the budget that are chosen are shown, with the metrics that the budget allows; without this, all are.
const [question, budget] = [document.getElementById("question"), document.getElementById("budget")];
const budgets = [...budget.options].map((option) => option.value);

function choose() {
  document.querySelectorAll("section").forEach((section, at) => (section.hidden = at !== question.selectedIndex));
  for (const answer of document.querySelectorAll(".answer")) answer.hidden = answer.dataset.budget !== budget.value;
  for (const row of document.querySelectorAll("tr[data-needs]")) row.hidden = budgets.indexOf(row.dataset.needs) > budget.selectedIndex;
}

budget.value = budgets.at(-1);
document.forms[0].addEventListener("change", choose);
document.forms[0].hidden = false;
choose();
