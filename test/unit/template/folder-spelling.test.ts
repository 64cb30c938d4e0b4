import { expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { ownerOfImage, templateNames } from '../../../src/domain/template/names.ts'
import type { JobCall } from '../../../src/ledger/job.ts'
import type { TemplateFacts, TemplatesPort } from '../../../src/platforms/ports/templates.ts'
import { findImported } from '../../../src/template/import/leftovers.ts'
import { lookAtFolder } from '../../../src/template/swap/look.ts'
import type { SwapWork } from '../../../src/template/swap/swap-work.ts'

/** As a person may write it; the platform calls it otherwise. */
const folder = 'group-v3'
const names = templateNames({ folder, production: 'golden' })
const [imageId, installation] = ['image-1', 'here']
const object = (name: string): TemplateFacts => ({
  ...{ ref: `vm-${name}`, name, folder: '/Paris/vm/golden', complete: true },
  owner: ownerOfImage({ imageId, installation }),
})
const templates = {
  templates: async (_call: unknown, asked: string) =>
    asked === folder ? [object('golden'), object(names.temp)] : [],
} as unknown as TemplatesPort
const call: JobCall = {
  ...{ signal: new AbortController().signal, timeoutMs: 1_000, name: 'look', clock: systemClock },
  confirm: () => {},
}

test('what is in a folder is seen however the folder is spelled: nothing there is taken for absent', async () => {
  const work = {
    ...{ names, installation, template: { id: 'template-1', folder }, version: { imageId } },
    rows: { findReplicasByRef: async () => [] },
  } as unknown as SwapWork
  const { seen } = await lookAtFolder({ db: {} as never, call, templates, work, importing: null })
  expect(seen).toMatchObject({ production: 'wanted', temp: 'wanted' })
  const place = { folder, templateName: names.temp, imageId, installation }
  expect(await findImported(templates, call, place)).toMatchObject({ ref: `vm-${names.temp}` })
})
