//! What goes through sockets by calls of their own.

use super::{Opaque, wrap};
use crate::count::{Way, transfer};

wrap! {
    fn recv(fd: i32, to: *mut u8, bytes: usize, how: i32) -> isize
        => |next| transfer(fd, Way::Received, next);
    fn __recv_chk(fd: i32, to: *mut u8, bytes: usize, room: usize, how: i32) -> isize
        => |next| transfer(fd, Way::Received, next);
    fn recvfrom(fd: i32, to: *mut u8, bytes: usize, how: i32, who: Opaque, room: Opaque) -> isize
        => |next| transfer(fd, Way::Received, next);
    fn __recvfrom_chk(
        fd: i32,
        to: *mut u8,
        bytes: usize,
        room: usize,
        how: i32,
        who: Opaque,
        who_room: Opaque,
    ) -> isize => |next| transfer(fd, Way::Received, next);
    fn recvmsg(fd: i32, message: Opaque, how: i32) -> isize
        => |next| transfer(fd, Way::Received, next);
    fn send(fd: i32, from: *const u8, bytes: usize, how: i32) -> isize
        => |next| transfer(fd, Way::Sent, next);
    fn sendto(fd: i32, from: *const u8, bytes: usize, how: i32, who: Opaque, room: u32) -> isize
        => |next| transfer(fd, Way::Sent, next);
    fn sendmsg(fd: i32, message: Opaque, how: i32) -> isize
        => |next| transfer(fd, Way::Sent, next);
}
