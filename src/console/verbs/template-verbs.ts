import type { Hono } from 'hono'
import type { ApiEnv } from '../../api/http/env.ts'
import { type Button, buttons } from '../kit/buttons.ts'
import { type Fields, textOf } from '../kit/form-request.ts'
import type { ConsoleParts } from '../kit/serve-page.ts'

const asked = 'operation-asked'

const numberOf = (form: Fields, name: string): number | undefined => {
  const text = textOf(form, name)
  return text === '' ? undefined : Number(text)
}

const list: readonly Button[] = [
  {
    at: '/templates/:name/update',
    asks: 'POST /v1/templates/{}/:update',
    body: (form) => ({ image: textOf(form, 'image') }),
    says: asked,
  },
  {
    at: '/templates/:name/rollback',
    asks: 'POST /v1/templates/{}/:rollback',
    body: (form) => ({ version: numberOf(form, 'version') }),
    says: asked,
  },
  { at: '/templates/:name/recover', asks: 'POST /v1/templates/{}/:recover', says: asked },
]

/** What the buttons about templates do. */
export const templateVerbs = (parts: ConsoleParts): Hono<ApiEnv> => buttons(parts, list)
