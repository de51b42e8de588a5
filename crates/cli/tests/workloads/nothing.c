/* nothing: exits with 0 at once. Truth: one process. */
int main(void) { return 0; }
