// Names the columns of a sheet by their headings. Takes the heavier heading, and asks when two weigh the same; what
// names no amount to collect is never the COD. Pure: the page shows what this file decides.
import { readExport, recognise } from './exports.js'
import { findProblem, findUnit, readMoney, readWeight } from './numbers.js'

/** @typedef {{ number: number, cells: string[] }} SheetRow `number` is the sheet's own number of the row, from 1. */
/** @typedef {{ rows: SheetRow[] }} Sheet */
/**
 * Describes a column: its field ('' if it is left out), its part of a field that several columns fill, the side of the
 * delivery that its heading names, and the unit of weights.
 * @typedef {{ index: number, heading: string, field: string, part: number, side: '' | 'receiver' | 'payer',
 *   unit: string, samples: string[] }} Column
 */
/**
 * `headingRow` is an index into the rows, or -1; `asked` lists fields whose candidates weigh the same: each option is
 * the indexes of the columns that together fill the field.
 * @typedef {{ headingRow: number, export?: string, columns: Column[], asked: { field: string, options: number[][] }[],
 *   allPrepaid?: boolean }} Choice
 */
/** @typedef {{ field: string, code: string }} Mark */
/**
 * Describes a parcel to be: `values` are the raw texts by field, `headings` the sheet's own headings of the fields,
 * `leftOut` the reason why the row is no parcel of its own.
 * @typedef {{ line: number, values: Record<string, string>, headings: Record<string, string>, marks: Mark[],
 *   weightUnit: string, leftOut?: string, errors: Record<string, string[]>, warnings: string[], city?: any,
 *   alternatives?: any[], price?: number }} Row
 */

/** Lists the fields of an order, in the order in which a merchant chooses them. */
export const fieldNames = [
  ...['order_no', 'customer_name', 'customer_phone', 'customer_secondary_phone', 'customer_address', 'destination'],
  ...['cod', 'weight', 'description', 'remark', 'customer_email'],
]
/** Lists the fields that several columns may fill together. */
export const joinedFields = ['customer_name', 'customer_address', 'description', 'remark']

/** Simplifies a heading: words in lower case, without marks; camelCase is split, "C.O.D." is "cod". */
export const simplifyHeading = (/** @type {string} */ heading) =>
  heading
    .normalize('NFKC')
    .replace(/[\u200b-\u200f\u202a-\u202e\ufeff]/g, '')
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replace(/\b(?:[a-z]\.){2,}(?:[a-z]\b)?/g, letters => letters.replaceAll('.', ''))
    .replace(/[^\p{L}\p{M}\p{N}#]+/gu, ' ')
    .trim()

const receiver = /\b(ship(ping)?|deliver(y|ed)?|receivers?|recipients?|consignee|drop( off)?|destination)\b|ලබන්න|பெறுந/u
const payer = /\b(bill(ing)?|payers?|invoice)\b/
const sender =
  /\b(senders?|pick ?up|shippers?|from|merchant|seller|store|shop|business|origin|vendor|suppliers?|return|warehouse|branch|courier|rider)\b|යවන්න|එවන්න|அனுப்புந/u

/** Reads the side of a delivery that a heading names. @returns {'sender' | 'receiver' | 'payer' | ''} */
const readSide = (/** @type {string} */ words) => {
  if (sender.test(words)) return 'sender'
  if (payer.test(words)) return 'payer'
  return receiver.test(words) ? 'receiver' : ''
}
const weightOfSide = { receiver: 20, '': 0, payer: -40 }

/** Names no amount to collect: taxes, discounts, quantities, fees, prices of one item, and what is paid already. */
const noCod =
  /\b(tax(es)?|vat|gst|duties|discounts?|coupon|promo|qty|quantity|pieces|pcs|count|fees?|charges?|cost|price|rate|unit|per|items?|lineitem|product|sub ?total|refund(ed)?|paid|advance|deposit|weight|date|time|status|method|type|mode|declared|insur\w*|currency|code|tips?|number|no|id|ref\w*|name|credit|wallet|gift)\b|බද්ද|වට්ටම|ගාස්තු|මිල|ප්රමාණ|ගණන|வரி|தள்ளுபடி|கட்டண|விலை|அளவு|எண்ணிக்கை/u

/**
 * Weighs headings: the first form of a field that a simplified heading has decides. A heading that names only a part
 * of what the form says weighs less than one that says no more than the form.
 * @type {Record<string, [RegExp, number][]>}
 */
const weights = {
  customer_email: [[/\b(e ?)mail\b|^mail$|මේල්|විද්යුත්|மின்னஞ்சல்/u, 150]],
  cod: [
    [/^(cod|cash|collect|collection)( amount| amt| value| total)?$|^(amount |amt |cash )?to (be )?collect(ed)?$/, 120],
    [/^(collect(able|ible)|cod) .*amount$|^amount collect(able|ible)?$|^cod (due|payable|to collect)$/, 120],
    [/අය කළ|එකතු කළ|வசூல/u, 120],
    [/^(total |net )?(payable|due|outstanding|balance)( amount| amt| due| total| payable| to pay)?$/, 110],
    [/^(amount|amt|balance|total|net amount) (payable|due|outstanding|to pay)$|^to pay$/, 110],
    [/ගෙවිය යුතු|செலுத்த வேண்டிய|நிலுவை/u, 110],
    [/^(grand|order|invoice|bill|final|net) total( amount| amt| price| value)?$|මුළු|මුලු|மொத்த/u, 85],
    [/^total( amount| amt| price| value| bill)?$|^එකතුව$/u, 80],
    [/^(order |bill |invoice |parcel )?(amount|amt)$|මුදල|தொகை/u, 70],
  ],
  weight: [
    [/^((parcel|package|gross|actual|total|combined product|shipping) )?(weight|wt)$|^kgs?$|^(grams?|gms?)$/, 110],
    [/(^|\s)බර(\s|$)|எடை/u, 110],
    [/\b(weight|wt)\b/, 90],
  ],
  customer_secondary_phone: [
    [/\b(second(ary)?|alt(ernat(e|ive))?|other|additional|extra|2nd|whats ?app)\b.*\b(phone|mobile|contact|tel\w*|cell|no|number)\b/, 130],
    [/\b(phone|mobile|contact|tel\w*|cell|whats ?app)( ?(no|number|#))? ?(2|two)$|^(phone|mobile|contact|tel)2$/, 130],
    [/දෙවන.*දුරකථ|இரண்டாவது.*(தொலைபேசி|கைபேசி)|மாற்று.*(தொலைபேசி|கைபேசி)/u, 130],
  ],
  customer_phone: [
    [/^(.* )?(phone|mobile|tel|telephone|cell|cellphone|hp)( (no|number|num|#))?( ?(1|one))?$/, 110],
    [/^(.* )?contact (no|number|num|#|details?)( ?(1|one))?$/, 108],
    [/දුරකථ|ජංගම|தொலைபேசி|கைபேசி|அலைபேசி|மொபைல்/u, 110],
    [/^contact( ?1)?$|\bwhats ?app\b/, 60],
    [/\b(phone|mobile|telephone)\b/, 90],
  ],
  customer_address: [
    [/\b(street|address|addr)( line)? ?[1-5]$|\baddress 1 2\b/, 110],
    [/\baddress\b|\baddr\b|ලිපින|முகவரி/u, 110],
    [/\bstreet\b/, 110],
  ],
  destination: [
    [/^(.* )?city( name)?$|^(.* )?(nearest|delivery) (city|town)\b|නගර|நகர|(^|\s)ஊர்/u, 105],
    [/^(.* )?town$|\bcity\b/, 100],
    [/^(.* )?(suburb|destination)$/, 95],
    [/^(.* )?district$|දිස්ත්රික්|மாவட்ட/u, 60],
    [/^(.* )?area$/, 50],
  ],
  remark: [
    [/^(.* )?(remarks?|notes?|comments?|instructions?)$|^(special|delivery) (instructions?|requests?)\b/, 100],
    [/සටහන|குறிப்பு/u, 100],
    [/^(.* )?message$/, 60],
  ],
  description: [
    [/^(.* )?(descriptions?|contents?)$|^(parcel|package|product|item|order) details?$|විස්තර|விவர|விளக்க/u, 100],
    [/^(line ?item|item|product) names?$|^(ordered )?(items?|products?|goods)( ordered)?$|භාණ්ඩ|අයිතම|பொருள்/u, 90],
  ],
  order_no: [
    [/^(merchant |shop |web |customer )?order ?(no|number|num|id|#|ref|reference|code)$|ඇණවුම්|ஆர்டர்/u, 110],
    [/^(invoice|bill|ref|reference)( ?(no|number|num|id|#|code))?$|යොමු/u, 100],
    [/^order$|^#$|^(s |serial |sl |sr )?no$|^id$/, 60],
  ],
  customer_name: [
    [/^(.* )?(first|given|fore|last|sur|family) ?names?$|^(.* )?full ?name$/, 110],
    [/^(receiver|recipient|consignee|ship to|deliver to|bill to)( name)?$/, 105],
    [/^(customer|client|buyer|contact)( ?s)? (name|person)$|(^|\s)නම(\s|$)|பெயர்/u, 105],
    [/^(shipping |delivery |receivers? |recipients? |consignee |billing |payer |person )?name$/, 100],
    [/^(customer|client|buyer)$|ලබන්නා$|பெறுநர்$|ගනුදෙනුකරු|පාරිභෝගික|வாடிக்கையாளர்/u, 80],
    [/\b(your|customer|person|receiver|recipient)\b.*\bname\b/, 80],
  ],
}
const placeAndPerson = ['customer_name', 'customer_address', 'destination']
const personal = [...placeAndPerson, 'customer_phone', 'customer_secondary_phone', 'customer_email']
/** Names something else than a person or place although it has the same noun. */
const noPerson = /\b(item|product|lineitem|company|file|user ?name|bank|province|state|country|tax|event|method|card|staff|agent|ip|url|zone|id)\b/

const firstNames = /\b(first|given|fore) ?name/
const lastNames = /\b(last|sur|family) ?name/
const readPart = (/** @type {string} */ words, /** @type {string} */ field) => {
  if (field === 'customer_name') return firstNames.test(words) ? 1 : lastNames.test(words) ? 2 : 0
  if (field !== 'customer_address' || /\b1 2$/.test(words)) return 0
  return Number(/([1-5])$/.exec(words)?.[1] ?? 0)
}

/** Removes what says how a total is meant: its currency, and that taxes or delivery are in it. */
const simplifyMoney = (/** @type {string} */ words) =>
  words
    .replace(/\bcash on delivery\b/g, 'cod')
    .replace(/\bcod( cod)+\b/g, 'cod')
    .replace(/\b(inc|incl|including|with) (tax|vat|gst|delivery|shipping)\b/g, '')
    .replace(/\b(lkr|rs|rupees|purchased)\b|රු|ரூ/gu, '')
    .replace(/\s+/g, ' ')
    .trim()

/** Weighs a heading for one field; 0 if it does not name the field. */
const weigh = (/** @type {string} */ words, /** @type {string} */ field) => {
  const text = field === 'cod' ? simplifyMoney(words) : words
  const weight = weights[field]?.find(([form]) => form.test(text))?.[1] ?? 0
  if (weight === 0 || (field === 'cod' && weight < 85 && noCod.test(text) && !/^total/.test(text))) return 0
  const side = readSide(words)
  if (field === 'remark') return side === 'sender' ? weight - 40 : weight
  if (!personal.includes(field)) return weight
  if (side === 'sender' || (noPerson.test(words) && field !== 'customer_email')) return 0
  return weight + weightOfSide[side]
}
