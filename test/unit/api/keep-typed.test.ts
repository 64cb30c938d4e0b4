import { expect, test } from 'vitest'
import { keepTyped } from '../../../src/console/refused/keep-typed.ts'

const form = (kind: string) =>
  `<form method="post" action="/machines/1"><input type="hidden" name="kind" value="${kind}"><input type="hidden" name="back" value="/x">` +
  '<input name="name" value="old"><input type="checkbox" name="sure" value="yes"><input type="password" name="secret">' +
  '<select name="how"><option value="a" selected>a</option><option value="b">b</option></select><textarea name="why"></textarea></form>'
const typed = { kind: 'snapshot', name: '"><b>$&', sure: 'yes', secret: 's3', how: 'b', why: '</textarea>$1' }

test('what was typed stands in the form that was sent, and in no other one', () => {
  const [sent, other] = [form('snapshot'), form('clone')]
  const page = keepTyped(`${sent}<p>between</p>${other}`, '/machines/1?x=1', typed)
  expect(page).toBe(
    sent
      .replace('name="name" value="old"', () => 'name="name" value="&quot;&gt;&lt;b&gt;$&amp;"')
      .replace('value="a" selected', 'value="a"')
      .replace('value="b"', 'value="b" selected')
      .replace('name="why">', () => 'name="why">&lt;/textarea&gt;$1')
      .concat(`<p>between</p>${other}`),
  )
  expect(keepTyped(sent, '/machines/2', typed)).toBe(sent)
})

test('neither a tick nor a secret is set, and a choice that there is not stays as it was', () => {
  const page = keepTyped(form('snapshot'), '/machines/1', { ...typed, how: 'none' })
  expect(page).not.toMatch(/checked|s3/)
  expect(page).toContain('<option value="a" selected>')
})

test('what was typed is kept where another number of finished migrations is to be confirmed by now', () => {
  const asks = (finished: number) =>
    `<form action="/a"><input type="hidden" name="finished" value="${finished}"><textarea name="why"></textarea></form>`
  expect(keepTyped(asks(3), '/a', { finished: '2', why: 'old' })).toContain('name="why">old<')
})
