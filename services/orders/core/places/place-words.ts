// Holds the words of Sri Lankan addresses by which places are found. Sinhala and Tamil letters match by their sound.

/** Lists words by what they say about the name before or after them. */
export const wordKinds = {
  street:
    'road rd street str st lane ln mawatha mw avenue ave av place pl terrace gardens crescent drive highway hwy expressway ' +
    'square cross para vidiya veediya patumaga viti teru patai olunkai calai',
  ofStreet: 'main old new high lower upper station temple church fort junction hospital school bank',
  district: 'district dist distrikkaya distrikkay mavattam',
  filler:
    'town city the near in at sri lanka lankava srilanka ceylon ilankai nagaraya nakaram post office province ' +
    'please call before delivery tel phone mobile',
} as const

/** Pairs short forms with their words; one without a word is left out. */
export const shortForms = 'mt:mount ft:fort pt:point col:colombo cmb:colombo no:'

/** Lists the districts: they are not states in a catalogue whose states are provinces. */
export const districtNames =
  'colombo gampaha kalutara kandy matale nuwaraeliya galle matara hambantota jaffna kilinochchi mannar vavuniya ' +
  'mullaitivu batticaloa ampara trincomalee kurunegala puttalam anuradhapura polonnaruwa badulla monaragala ' +
  'ratnapura kegalle'
