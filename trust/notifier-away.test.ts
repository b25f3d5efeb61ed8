import { notifierAway } from './notifier-away.ts'
import { testShortForm } from './short-form.ts'

testShortForm(notifierAway)
