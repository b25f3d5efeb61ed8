/** Matches the id of a person at a business portfolio (docs/contributors/messaging-api.md#people). */
export const userIdForm = /^[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}$/

export const isUserId = (text: string): boolean => userIdForm.test(text)

/** Exceeds the length of every user id. */
export const maxUserIdLength = 140
