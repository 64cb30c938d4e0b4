// Text that is too pale for its ground: less than 4.5 to 1, or 3 to 1 when it is large (WCAG AA).
export default () => {
  const parse = (text) => {
    const [r = 0, g = 0, b = 0, alpha = 1] = (text.match(/[\d.]+/g) ?? []).map(Number)
    return { rgb: [r, g, b], alpha }
  }
  const luminance = ({ rgb }) => {
    const [r = 0, g = 0, b = 0] = rgb.map((value) => {
      const part = value / 255
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor)
      if (color.alpha === 1) return color
    }
    return { rgb: [255, 255, 255], alpha: 1 }
  }
  const faults = new Set()
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = (node.nodeValue ?? '').trim()
    const element = node.parentElement
    if (text === '' || !element || element.getClientRects().length === 0 || element.closest('.sr')) continue
    const style = getComputedStyle(element)
    if (style.visibility === 'hidden') continue
    const [a, b] = [luminance(parse(style.color)), luminance(ground(element))]
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
    const sizePx = Number.parseFloat(style.fontSize)
    const large = sizePx >= 24 || (sizePx >= 18.66 && Number(style.fontWeight) >= 700)
    if (ratio < (large ? 3 : 4.5))
      faults.add(`${ratio.toFixed(2)}: "${text.slice(0, 40)}" in ${element.tagName} .${element.className}`)
  }
  return [...faults]
}
