#include "threads/kernel/kernel.h"
