// oncelatch-exec: sets up one confinement and becomes the program. Started only by enter(); takes no arguments.
#include "sandbox/enforce.h"

int main() {
  using namespace oncelatch::sandbox;
  static WirePlan plan;
  static Context context;
  context.plan = &plan;
  enforce(context);
}
