export declare const printable: (text: string) => string
export declare const printableJson: (json: string) => string
export const printableHtml: (html: string) => string
