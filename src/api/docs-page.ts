import type { OpenApiDocument } from './http/openapi.ts'
import { escapeHtml, page } from './http/pages.ts'
import { problemCodes } from './wire/problem-codes.ts'

type Operation = NonNullable<NonNullable<OpenApiDocument['paths']>[string]['get']>

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const

/** The API as a page to read: made here from the OpenAPI document, works without scripts. */
export const docsPage = (document: OpenApiDocument): string => {
  const tags = (document.tags ?? []).map((tag) => ({ ...tag, operations: operationsOf(document, tag.name) }))
  const sections = tags.map(
    (tag) => `<section aria-labelledby="tag-${slug(tag.name)}">
<h2 id="tag-${slug(tag.name)}">${escapeHtml(tag.name)}</h2>
<p>${prose(tag.description ?? '')}</p>
${tag.operations.map(({ path, method, operation }) => operationHtml(path, method, operation)).join('\n')}
</section>`,
  )
  return page({
    title: 'The API',
    scripts: ['docs.js'],
    body: `<p>${prose(document.info.description ?? '')}</p>
<p>The same for programs: <a href="/v1/openapi.json">/v1/openapi.json</a> (OpenAPI 3.1).
Queues: <a href="/queues">/queues</a>. Health: <a href="/readyz">/readyz</a>, <a href="/metrics">/metrics</a>.</p>
<form role="search" hidden><label for="filter">Filter operations</label>
<input id="filter" type="search" autocomplete="off" aria-describedby="shown">
<p id="shown" class="dim" role="status"></p></form>
<nav aria-label="Sections"><ul>${tags.map((tag) => `<li><a href="#tag-${slug(tag.name)}">${escapeHtml(tag.name)}</a></li>`).join('')}
<li><a href="#schemas">Schemas</a></li><li><a href="#errors">Errors</a></li></ul></nav>
${sections.join('\n')}
${schemasHtml(document)}
${errorsHtml}`,
  })
}

const slug = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]+/g, '-')

/** Escaped text in which `code` is set as code. */
const prose = (text: string): string => escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>')

const operationsOf = (document: OpenApiDocument, tag: string) =>
  Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method]
      return operation?.tags?.includes(tag) ? [{ path, method, operation }] : []
    }),
  )

const operationHtml = (path: string, method: string, operation: Operation): string => {
  const words = `${method} ${path} ${operation.summary ?? ''} ${operation.description ?? ''}`.toLowerCase()
  const role = String((operation as { 'x-role'?: string })['x-role'] ?? '')
  return `<details id="${operation.operationId ?? ''}" data-words="${escapeHtml(words)}">
<summary><span class="method">${method.toUpperCase()}</span> <code>${escapeHtml(path)}</code>
<span class="dim">${escapeHtml(operation.summary ?? '')}</span></summary>
<p>${prose(operation.description ?? operation.summary ?? '')} <span class="role">Role: ${escapeHtml(role)}.</span></p>
${parametersHtml(operation)}${bodyHtml(operation)}${answersHtml(operation)}
</details>`
}

const parametersHtml = (operation: Operation): string => {
  const parameters = (operation.parameters ?? []).filter((parameter) => 'name' in parameter)
  if (parameters.length === 0) return ''
  const rows = parameters.map(
    (
      parameter,
    ) => `<tr><th scope="row"><code>${escapeHtml(parameter.name)}</code></th><td>${parameter.in}</td>
<td>${parameter.required ? 'required' : ''}</td><td>${prose(parameter.description ?? descriptionOf(parameter.schema))}</td></tr>`,
  )
  return `<table><thead><tr><th>Name</th><th>In</th><th></th><th></th></tr></thead><tbody>${rows.join('')}</tbody></table>`
}

const descriptionOf = (schema: unknown): string => {
  const { description, type } = (schema ?? {}) as { description?: string; type?: unknown }
  return description ?? (typeof type === 'string' ? type : '')
}

const bodyHtml = (operation: Operation): string => {
  const body = operation.requestBody
  if (!body || !('content' in body)) return ''
  const schema = body.content['application/json']?.schema
  return schema ? `<h3>Body</h3>${schemaHtml(schema)}` : ''
}

const answersHtml = (operation: Operation): string => {
  const answers = Object.entries(
    (operation.responses ?? {}) as Record<
      string,
      { description?: string; content?: Record<string, { schema?: unknown }> }
    >,
  )
  const rows = answers.map(([status, answer]) => {
    const schema = answer.content?.['application/json']?.schema
    const name = referenceName(schema)
    const link = name ? ` <a href="#schema-${name}">${name}</a>` : ''
    return `<tr><th scope="row">${status}</th><td>${prose(answer.description ?? '')}${link}</td></tr>`
  })
  return `<h3>Answers</h3><table><tbody>${rows.join('')}</tbody></table>`
}

const referenceName = (schema: unknown): string | undefined => {
  const reference = (schema as { $ref?: string } | undefined)?.$ref
  return reference?.split('/').at(-1)
}

const schemaHtml = (schema: unknown): string => {
  const name = referenceName(schema)
  if (name) return `<p><a href="#schema-${name}">${name}</a></p>`
  return `<pre tabindex="0">${escapeHtml(JSON.stringify(schema, null, 2))}</pre>`
}

const schemasHtml = (document: OpenApiDocument): string => {
  const schemas = Object.entries(document.components?.schemas ?? {}).map(
    ([name, schema]) => `<details id="schema-${name}"><summary><code>${name}</code></summary>
<pre tabindex="0">${escapeHtml(JSON.stringify(schema, null, 2))}</pre></details>`,
  )
  return `<section aria-labelledby="schemas"><h2 id="schemas">Schemas</h2>${schemas.join('\n')}</section>`
}

const errorsHtml = `<section aria-labelledby="errors"><h2 id="errors">Errors</h2>
<table><thead><tr><th>Code</th><th>Status</th><th>What it is</th><th>What to do</th></tr></thead><tbody>
${Object.entries(problemCodes)
  .map(
    ([code, { status, title, remedy }]) =>
      `<tr id="error-${code}"><th scope="row"><code>${code}</code></th><td>${status}</td><td>${prose(title)}</td><td>${prose(remedy)}</td></tr>`,
  )
  .join('\n')}
</tbody></table></section>`
