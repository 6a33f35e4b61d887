// Shows times in the reader's own zone. Without scripts, they are in UTC.
const form = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

for (const each of document.querySelectorAll("time[datetime]")) {
  const at = new Date(each.dateTime);
  if (!Number.isNaN(at.valueOf())) {
    each.title = each.textContent;
    each.textContent = form.format(at);
  }
}
