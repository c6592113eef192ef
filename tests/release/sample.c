/* A program whose hardening depends on its compiler options alone. */
#include <stdio.h>
#include <string.h>

int main(int count, char** arguments) {
  char copy[64];
  strcpy(copy, arguments[count - 1]);
  printf("%s\n", copy);
  return 0;
}
