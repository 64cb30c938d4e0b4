import { html } from 'hono/html'
import type { InstanceDetail } from '../../../api/resources/inventory/instance-view.ts'
import { mayOperate, type PageContext } from '../../kit/page.ts'
import { visible } from '../../kit/shown.ts'
import { ago, button, type Html } from '../../kit/view.ts'

type Finding = InstanceDetail['findings'][number]

const severityLooks: Readonly<Record<Finding['severity'], string>> = {
  critical: 'blocked',
  warning: 'wary',
  info: 'unknown',
}

/** Every rule that a machine breaks: why, what to do, and how to take the risk. */
export const findingsHtml = (context: PageContext, instance: InstanceDetail): Html =>
  instance.findings.length === 0
    ? html`<p class="empty">No rule has anything against it.</p>`
    : html`<ul class="findings">${instance.findings.map((finding) => findingItem(context, instance, finding))}</ul>`

const findingItem = (context: PageContext, instance: InstanceDetail, finding: Finding): Html => html`<li
 data-key="${finding.rule}"${finding.waived ? html` class="settled"` : ''}>
<p class="finding-head"><span class="badge is-${severityLooks[finding.severity]}">${finding.severity}</span>
<strong>${finding.title}</strong> <code>${finding.rule}</code>
<span class="dim">since ${ago(finding.since, context.nowMs)}</span></p>
<ul class="evidence">${finding.evidence.map((text) => html`<li>${visible(text)}</li>`)}</ul>
${finding.waived ? waivedText(context, instance, finding) : html`<p><strong>What to do:</strong> ${finding.remedy}</p>`}
${!finding.waived && finding.waivable && mayOperate(context) ? waiveForm(instance, finding) : ''}</li>`

const waivedText = (context: PageContext, instance: InstanceDetail, { waiver, rule }: Finding): Html => {
  if (waiver === null) return html`<p>It does not count: its restrictions are ignored by hand.</p>`
  const until = waiver.until === null ? 'for good' : html`until ${ago(waiver.until, context.nowMs)}`
  return html`<p>${visible(waiver.by)} took the risk, ${until}${waiver.fleet_wide ? ', for the whole fleet' : ''}: ${visible(waiver.reason)}</p>
${
  mayOperate(context)
    ? button({
        action: `/waivers/${waiver.id}/remove`,
        text: waiver.fleet_wide ? 'Let it count again for the whole fleet' : 'Let it count again',
        about: rule,
        back: `/instances/${instance.id}`,
      })
    : ''
}`
}

const waiveForm = (instance: InstanceDetail, { rule, title }: Finding): Html => html`<details class="waive">
<summary>Take the risk<span class="sr">: ${title}</span></summary>
<form class="form" method="post" action="/instances/${instance.id}/waive"><input type="hidden" name="rule" value="${rule}">
<div class="field"><label for="why-${rule}">Why it is no matter here</label>
<input id="why-${rule}" name="reason" required maxlength="2048" autocomplete="off"></div>
<div class="field"><label for="until-${rule}">Until the end of</label>
<input id="until-${rule}" name="until" type="date" aria-describedby="until-${rule}-hint">
<p class="hint" id="until-${rule}-hint">Empty: for good.</p></div>
<button type="submit">Waive it for this machine</button></form></details>`
