// Compiles headers.hpp for every test.
int main() {
  return 0;
}
