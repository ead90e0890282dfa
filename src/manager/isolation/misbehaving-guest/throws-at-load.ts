/** Cannot be loaded. For tests. */
throw new Error('on purpose, at load')
