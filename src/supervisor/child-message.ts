/** What a role tells the supervisor that started it. */
export type ChildMessage =
  | { readonly type: 'running'; readonly port: number }
  | { readonly type: 'failed'; readonly class: string; readonly text: string }
