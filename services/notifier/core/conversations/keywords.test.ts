import t from 'tap'
import { findKeyword, readKeywords } from './keywords.ts'

const unnamed = readKeywords(['STOP'], ['START'])

const optOuts = [
  ...[
    'STOP',
    'stop',
    ' Stop \n',
    'STOP!',
    'Stop.',
    '*STOP*',
    '_stop_',
    '"Stop"',
    'stop?',
    '(stop)',
    'STOP!!! 😡',
    '🛑 stop',
  ],
  ...[
    'ｓｔｏｐ',
    'st\u200dop',
    'STOP\ufe0f',
    'Stop stop stop',
    'stopall',
    'Unsubscribe',
    'unsubscribe please',
    'Opt-out',
    'opt out',
  ],
  ...[
    'Stop please',
    'Please stop',
    'pls stop!',
    'Please, STOP.',
    'stop now',
    'Stop messages',
    'stop sms',
    'Stop all messages',
  ],
  ...[
    'Stop sending me messages',
    'please stop sending messages',
    'STOP messaging me',
    'stop the spam',
    'Stop, thank you',
  ],
  ...['hello, please stop your messages', 'stop whatsapp messages please', 'kindly stop these alerts', 'sms stop'],
  ...['නවත්වන්න', 'නවත්වන්න!', 'කරුණාකර නවත්වන්න', 'පණිවිඩ එවීම නවත්වන්න', 'නවතන්න', 'මැසේජ් එපා', 'පණිවිඩ එවන්න එපා.', 'ස්ටොප්'],
  ...['நிறுத்து', 'நிறுத்தவும்.', 'தயவு செய்து நிறுத்தவும்', 'செய்திகளை நிறுத்துங்கள்', 'செய்தி அனுப்ப வேண்டாம்', 'ஸ்டாப்'],
]
for (const text of optOuts) t.equal(findKeyword([text], unnamed), 'stop', text)

const noThanks = ['එපා', 'එපා!', 'එපා ස්තූතියි', 'வேண்டாம்', 'வேண்டாம், நன்றி', 'இனி வேண்டாம்']
for (const text of noThanks) t.equal(findKeyword([text], unnamed), 'no thanks', text)

const others = [
  ...[
    "don't stop",
    'Do not stop',
    'please don’t stop the messages',
    'never stop',
    'non-stop',
    'no stop',
    'stop it',
    'stopped',
  ],
  ...[
    'stop by my office',
    'Stop at the gate please',
    'can you stop at the gate?',
    'bus stop',
    'near the bus stop',
    'stop here',
  ],
  ...[
    'text me the stop',
    'message me your stop please',
    'which stop',
    'Stop the delivery',
    'stop my order',
    'stop this',
  ],
  ...[
    'full stop',
    'I will stop by tomorrow',
    'one stop shop',
    'when does it stop',
    'cancel',
    'END',
    'quit',
    'no',
    'unstoppable',
  ],
  ...[
    'Please stop sending messages to me and to all of my friends',
    's t o p',
    'st_op',
    'stop 2',
    'stop start',
    'start stop',
  ],
  ...['නවත්වන්න එපා', 'දැන් එපා', 'කතා කරන්න එපා', 'බස් නවතන තැන', 'ගේට්ටුව ළඟ නවතන්න', 'මට පාර්සලය එපා'],
  ...['நிறுத்த வேண்டாம்', 'இப்போது வேண்டாம்', 'பேருந்து நிறுத்தம்', 'வீட்டின் முன் நிறுத்தவும்', 'பார்சல் வேண்டாம்', 'அழைக்க வேண்டாம்'],
  ...['', ' ', '!!!', '🛑', 'Where is my parcel?', 'ok', 'please', 'messages'],
]
for (const text of others) t.equal(findKeyword([text], unnamed), undefined, text)

t.test('only a keyword that stands alone opts in', t => {
  for (const text of ['START', 'start!', 'ආරම්භ කරන්න', 'தொடங்கு']) t.equal(findKeyword([text], unnamed), 'start', text)
  for (const text of ['start please', 'when do you start', "don't start"])
    t.equal(findKeyword([text], unnamed), undefined, text)
  t.end()
})

t.test('a tenant’s own words replace the default ones', t => {
  const words = readKeywords(['Halt', 'no more sms', '🛑', ' '], ['GO'])
  for (const text of ['halt', 'Please halt!', 'No more SMS.', '🛑 ']) t.equal(findKeyword([text], words), 'stop', text)
  for (const text of ['STOP', 'no more', '', ' ', '🛑🛑', 'halt at the gate'])
    t.equal(findKeyword([text], words), undefined, text)
  t.equal(findKeyword([undefined], words), undefined)
  t.equal(findKeyword(['එපා'], words), undefined)
  t.equal(findKeyword(['එපා'], readKeywords(['එපා'], ['GO'])), 'stop')
  t.equal(findKeyword([undefined, 'Go'], words), 'start')
  t.equal(findKeyword(['go', 'halt'], words), 'stop')
  t.end()
})

t.test('ignores a long text, whatever it contains', t => {
  const began = process.threadCpuUsage()
  for (const unit of ['stop ', ' ', 'ﷺ', 'e\u0301', '\u200d', 'please ', '!'])
    for (const length of [100, 5_000]) {
      const text = `stop ${unit.repeat(length)}`
      t.equal(
        findKeyword([text], unnamed),
        text.trim().length > 100 ? undefined : 'stop',
        `${JSON.stringify(unit)} ${length}`,
      )
    }
  const { user, system } = process.threadCpuUsage(began)
  t.ok(user + system < 200_000, `${user + system} µs`)
  t.end()
})
