/** Is never loaded. For tests. */
for (;;);
