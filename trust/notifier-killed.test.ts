import { notifierKilled } from './notifier-killed.ts'
import { testShortForm } from './short-form.ts'

testShortForm(notifierKilled)
