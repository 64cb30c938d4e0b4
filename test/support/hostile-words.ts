/** What a platform may call a thing, if it likes: each in its kind, none of them with a meaning of its own. */
export const hostileWords: Readonly<Record<string, string>> = {
  empty: '',
  blank: '   ',
  nul: 'before\u0000after',
  'half-surrogate': 'broken \ud83d emoji',
  'terminal-escape': '\u001b[2J\u001b]0;owned\u0007\u001b[31mred',
  'c1-escape': '\u009b2Jgone\u009d0;owned\u009c',
  lines: 'one\r\ntwo\ttabs\vand\u2028three\u2029four\u0085five',
  bidi: 'photo\u202egpj.exe\u2066\u2069\u200f\u061c',
  html: '"><script>document.title="owned"</script><img src=x onerror=alert(1)>',
  'html-in-attribute': "' onmouseover='alert(1)' x='",
  'js-url': 'javascript:alert(1)//',
  template: '{{constructor.constructor("return 1")()}}<%= 1 %>',
  csv: '=cmd|\' /C calc\'!A0,"x"',
  'csv-full-width': '＝1+1',
  path: '../../../../etc/passwd',
  'windows-path': '..\\..\\con:',
  'encoded-path': '%2e%2e%2f%2fetc%00',
  cel: '" || true || name == "',
  sql: `'; drop table instance; -- "\\`,
  proto: '__proto__',
  constructor: 'constructor',
  url: 'https://user:secret@169.254.169.254/latest/meta-data?token=x',
  shell: '$(reboot)`reboot`; rm -rf / #',
  metrics: 'x"} 1\ndrover_owned{a="b',
  long: 'n'.repeat(100_000),
  'long-and-wide': '漢'.repeat(20_000),
}

/** No text repeats itself, so that nothing can make it shorter: 2,704 bytes of it fit into no index. */
export const incompressible = (length: number, seed = 7): string => {
  let state = seed
  let text = ''
  while (text.length < length) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    text += String.fromCodePoint(0x4e00 + (state % 20_000))
  }
  return text.slice(0, length)
}

/** Numbers that no count is. */
export const hostileNumbers: readonly number[] = [
  ...[-1, -0, 0.5, 1e308, -1e308, 2 ** 53, 2 ** 63, 2 ** 64, Number.MAX_VALUE, Number.MIN_VALUE],
]

/** Values of every type; a JSON answer may have any of them at any place. */
export const hostileValues: readonly unknown[] = [
  ...[null, true, false, 0, '', 'text', [], {}, [[]], [null], { a: null }],
  ...hostileNumbers,
  ...Object.values(hostileWords),
  { toString: 1, valueOf: 1 },
  { length: -1 },
  JSON.parse('{"__proto__": {"polluted": true}, "constructor": {"prototype": {}}}') as unknown,
]

/** Nothing that a terminal obeys, that breaks a line or that turns a text around. */
export const plainLine = /^[^\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]*$/u
