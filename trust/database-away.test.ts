import { databaseAway } from './database-away.ts'
import { testShortForm } from './short-form.ts'

testShortForm(databaseAway)
