/** Values of properties by `Type:ref` and path: the inside of the element, with its type where that says something. */
export type FakeObjects = Readonly<Record<string, Readonly<Record<string, FakeValue>>>>
export type FakeValue = string | { readonly type: string; readonly xml: string; readonly ref?: string }

/** Answers RetrievePropertiesEx out of these objects; what is not among them is gone. */
export const readFakeObjects =
  (objects: () => FakeObjects) =>
  (request: string): string => {
    const paths = [...request.matchAll(/<pathSet>([^<]*)</g)].map(([, path]) => path ?? '')
    const asked = [...request.matchAll(/<obj type="([^"]*)">([^<]*)</g)]
    const found = asked.flatMap(([, type = '', ref = '']) => {
      const values = objects()[`${type}:${ref}`]
      if (!values) return []
      const sets = paths.flatMap((path) =>
        values[path] === undefined ? [] : propertySet(path, values[path]),
      )
      return `<objects><obj type="${type}">${ref}</obj>${sets.join('')}</objects>`
    })
    return `<returnval>${found.join('')}</returnval>`
  }

const propertySet = (path: string, value: FakeValue): string => {
  if (typeof value === 'string') return `<propSet><name>${path}</name><val>${value}</val></propSet>`
  const ref = value.ref === undefined ? '' : ` type="${value.ref}"`
  return `<propSet><name>${path}</name><val xsi:type="${value.type}"${ref}>${value.xml}</val></propSet>`
}

/** A property that refers to one object, written `Type:ref`. */
export const fakeRef = (of: string): FakeValue => {
  const [type = '', ref = ''] = of.split(':')
  return { type: 'ManagedObjectReference', ref: type, xml: ref }
}

/** A property that refers to many. */
export const fakeRefs = (...all: readonly string[]): FakeValue => ({
  type: 'ArrayOfManagedObjectReference',
  xml: all
    .map((of) => of.split(':'))
    .map(([type = '', ref = '']) => `<ManagedObjectReference type="${type}">${ref}</ManagedObjectReference>`)
    .join(''),
})
