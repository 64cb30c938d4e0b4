import type { TemplatesPort } from '../ports/templates.ts'
import { importLabImage } from './lab-import.ts'
import type { LabLink } from './lab-link.ts'
import { labPath } from './lab-path.ts'
import { findLabTask, startLabTask } from './lab-tasks.ts'
import { template, templatesAnswer } from './protocol.ts'

export const labTemplates = (link: LabLink): TemplatesPort => ({
  imageFormats: ['raw'],
  findTask: (call, trace) => findLabTask(link, call, trace),
  templates: async (call, folder) =>
    (await link.ask(call, { method: 'GET', path: '/templates', query: { folder } }, templatesAnswer))
      .templates,
  template: async (call, ref) =>
    await link.find(call, { method: 'GET', path: labPath`/templates/${ref}` }, template),
  importImage: async (call, image, onProgress) => await importLabImage(link, call, image, onProgress),
  markTemplate: async (call, machine) => {
    await link.send(call, { method: 'POST', path: labPath`/instances/${machine}/mark-template` })
  },
  markMachine: async (call, ref) => {
    await link.send(call, { method: 'POST', path: labPath`/instances/${ref}/mark-machine` })
  },
  renameTemplate: async (call, ref, newName) =>
    await startLabTask(link, call, {
      method: 'POST',
      path: labPath`/instances/${ref}/rename`,
      json: { name: newName },
    }),
  destroyTemplate: async (call, ref) =>
    await startLabTask(link, call, { method: 'DELETE', path: labPath`/instances/${ref}` }),
})
