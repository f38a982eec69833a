#include "user/kernel.h"
