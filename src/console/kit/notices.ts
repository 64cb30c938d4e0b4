/** What a page says after a button was pressed. By code, so that a link cannot put words into our mouth. */
const notices: Readonly<Record<string, string>> = {
  retried: 'The job is ready to run again.',
  'retried-all': 'The jobs are ready to run again.',
  canceled: 'The job is canceled.',
  requested: 'The job was asked to end. Its worker undoes first what it did outside.',
  ended: 'The job had ended already; nothing was changed.',
  'not-ended': 'The job has not ended, so there is nothing to run again.',
  succeeded: 'The job has succeeded and is not run again.',
  'job-moot': 'It is not run again: what it was for has gone on without it, or is gone.',
  'in-debt': 'What the job left outside is being undone; it cannot run again before.',
  waived: 'The effect is waived.',
  'not-waivable': 'The effect could not be waived: only a debt can be.',
  started: 'The self-test is under way.',
  resumed: 'It goes on.',
  power: 'It is being done; the page shows when the source says so.',
  'rule-waived': 'The rule no longer counts for this machine.',
  'rule-counts': 'The rule counts again.',
  saved: 'Saved.',
  added: 'Added. Its connection is being checked.',
  removed: 'Removed.',
  'site-half-removed':
    '{n} of its machines are left: it is large, and goes in parts. Remove it again for the rest.',
  checking: 'The connection is being checked.',
  syncing: 'It is being read.',
  confirmed: 'The certificate is trusted now; the connection is being checked with it.',
  'batch-defined': 'Defined. Its machines are being searched for.',
  'batch-started': 'It runs; its entries are being made.',
  'batch-stopped': 'Stopped: what runs lets go at its next safe point.',
  'batch-reset': 'Its entries are being thrown away, one by one.',
  planning: 'It is being planned; the page shows the plan when it is there.',
  approved: 'The plan is approved.',
  resolved: 'It is checked again.',
  'tried-again': 'It is tried again.',
  'given-up': 'It is given up; what it left is being put right.',
  'entry-removed': 'It is off the list. A machine that was migrated stays.',
  'entry-leaving': 'Its copy on the target is destroyed first; then it goes.',
  'batch-removed': 'The batch is gone. Machines and certificates stay.',
  'batch-half-removed':
    '{n} of its entries are left: it is large, and goes in parts. Remove it again for the rest.',
  'operation-asked': 'It is asked for; the page shows how it goes.',
  'operation-canceled': 'It is canceled; what it began is called off.',
  'operation-ended': 'It had ended already; nothing was changed.',
  'past-return': 'It is past its return: it can no longer be canceled, only come to its end.',
  acknowledged: 'You have read it.',
  reopened: 'It is new again.',
}

/** The text of a code; where it speaks of a number, with that number and nothing else of the address. */
export const noticeText = (code: string | null, count: string | null = null): string | undefined => {
  if (code === null || !Object.hasOwn(notices, code)) return undefined
  const text = notices[code] ?? ''
  if (!text.includes('{n}')) return text
  return count !== null && /^\d{1,9}$/.test(count) ? text.replace('{n}', count) : undefined
}
