// What is wrong with a page for those who do not see it, or not well. Empty is good.
export default () => {
  const faults = []
  const all = (selector) => [...document.querySelectorAll(selector)]
  const name = (element) => element.outerHTML.slice(0, 100)
  const textOf = (element) => (element.textContent ?? '').trim()
  const labelled = (element) =>
    element.getAttribute('aria-label') ||
    (element.getAttribute('aria-labelledby') ?? '').split(' ').some((id) => document.getElementById(id)) ||
    (element.labels?.length ?? 0) > 0

  if (document.documentElement.lang === '') faults.push('the page names no language')
  if (document.title.trim() === '') faults.push('the page has no title')
  if (all('h1').length !== 1) faults.push(`${all('h1').length} headings of the first level`)
  for (const landmark of ['main', 'header', 'nav'])
    if (all(landmark).length === 0) faults.push(`no <${landmark}>`)
  const levels = all('h1, h2, h3, h4').map((heading) => Number(heading.tagName[1]))
  levels.forEach((level, at) => {
    if (at > 0 && level > (levels[at - 1] ?? 0) + 1) faults.push(`a heading of level ${level} skips one`)
  })
  for (const input of all('input:not([type=hidden]), select, textarea'))
    if (!labelled(input)) faults.push(`no label: ${name(input)}`)
  for (const control of all('a[href], button, summary'))
    if (textOf(control) === '' && !labelled(control)) faults.push(`no name: ${name(control)}`)
  for (const region of all('[role=region], [role=progressbar], progress, nav'))
    if (!labelled(region)) faults.push(`no name: ${name(region)}`)
  for (const cell of all('table'))
    if (cell.querySelector('th[scope]') === null) faults.push('a table without headers')
  const ids = all('[id]').map((element) => element.id)
  for (const id of ids) if (ids.filter((other) => other === id).length > 1) faults.push(`the id ${id} twice`)
  for (const tabbed of all('[tabindex]')) if (tabbed.tabIndex > 0) faults.push(`tabindex: ${name(tabbed)}`)
  return [...new Set(faults)]
}
