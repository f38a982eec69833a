// SPDX-License-Identifier: GPL-2.0-or-later
int replaced(int number);
int replaced(int number) {
    return number + 5;
}
