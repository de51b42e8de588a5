/* sockets DIR PART: one part of what a program can do with sockets, each call counted here.
 * Truth: by construction, see the part; skips where this system has no such network. */
#include "truth.h"
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/un.h>

static char block[1 << 16];

static void done(const char *what, long result, long wanted) {
    if (result != wanted)
        die(what);
}

static void exactly(const char *what, int fd, long bytes) {
    while (bytes > 0) {
        long part = read(fd, block, bytes < (long)sizeof block ? bytes : (long)sizeof block);
        if (part <= 0)
            die(what);
        bytes -= part;
    }
}

static socklen_t loopback(int family, struct sockaddr_storage *address) {
    memset(address, 0, sizeof *address);
    address->ss_family = family;
    if (family == AF_INET) {
        ((struct sockaddr_in *)address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return sizeof(struct sockaddr_in);
    }
    ((struct sockaddr_in6 *)address)->sin6_addr = in6addr_loopback;
    return sizeof(struct sockaddr_in6);
}

/* A socket bound to the loopback address, which is put into `address`. */
static int bound(int family, int type, struct sockaddr_storage *address, socklen_t *length) {
    int fd = socket(family, type, 0);
    *length = loopback(family, address);
    if (fd < 0 || bind(fd, (void *)address, *length) != 0)
        skip("no loopback address of this family");
    getsockname(fd, (void *)address, length);
    return fd;
}

/* The client sends 10 * 1000 by send, 5 * 200 by write, 2 * 50 by sendmsg, 10 + 20 + 30 by one
 * sendmmsg, 5000 by sendfile, 4096 by splice: 20256 bytes in 22 writes; the server looks at 100
 * of them first, reads them all, and answers 777 bytes, which recvmsg gets. */
static void stream(int family) {
    struct sockaddr_storage address;
    socklen_t length;
    int server = bound(family, SOCK_STREAM, &address, &length);
    listen(server, 1);
    pid_t child = fork();
    if (child == 0) {
        struct iovec small[3] = {{block, 10}, {block, 20}, {block, 30}}, fifty = {block, 50};
        struct mmsghdr many[3] = {0};
        struct msghdr one = {.msg_iov = &fifty, .msg_iovlen = 1};
        int ends[2], client = socket(family, SOCK_STREAM, 0), file = memfd_create("sent", 0);
        if (connect(client, (void *)&address, length) != 0 || pipe(ends) != 0)
            die("connect");
        for (int i = 0; i < 10; i++)
            done("send", send(client, block, 1000, 0), 1000);
        for (int i = 0; i < 5; i++)
            done("write", write(client, block, 200), 200);
        for (int i = 0; i < 2; i++)
            done("sendmsg", sendmsg(client, &one, 0), 50);
        for (int i = 0; i < 3; i++)
            many[i].msg_hdr = (struct msghdr){.msg_iov = &small[i], .msg_iovlen = 1};
        done("sendmmsg", sendmmsg(client, many, 3, 0), 3);
        done("ftruncate", ftruncate(file, 5000), 0);
        done("sendfile", sendfile(client, file, NULL, 5000), 5000);
        done("write", write(ends[1], block, 4096), 4096);
        done("splice", splice(ends[0], NULL, client, NULL, 4096, 0), 4096);
        struct iovec answer = {block, 777};
        one.msg_iov = &answer;
        done("recvmsg", recvmsg(client, &one, MSG_WAITALL), 777);
        _exit(0);
    }
    int fd = accept(server, NULL, NULL);
    done("recv", recv(fd, block, 100, MSG_PEEK | MSG_WAITALL), 100);
    exactly("read", fd, 20256);
    done("write", write(fd, block, 777), 777);
    waitpid(child, NULL, 0);
    close(fd);
}

static void tcp(void) {
    stream(AF_INET);
}

static void tcp6(void) {
    stream(AF_INET6);
}

/* 7 datagrams of 100 from a connected socket, received by one recvmmsg; 3 of 50 from one that is
 * connected to nobody; 2000 of which 100 are received (MSG_TRUNC): 2850 bytes are sent, 2150 of
 * them who knows where, and 950 received. */
static void udp(void) {
    struct sockaddr_storage address;
    struct iovec parts[7];
    struct mmsghdr many[7] = {0};
    socklen_t length;
    int server = bound(AF_INET, SOCK_DGRAM, &address, &length);
    int client = socket(AF_INET, SOCK_DGRAM, 0), other = socket(AF_INET, SOCK_DGRAM, 0);
    if (connect(client, (void *)&address, length) != 0)
        die("connect");
    for (int i = 0; i < 7; i++) {
        done("send", send(client, block, 100, 0), 100);
        parts[i] = (struct iovec){block + 100 * i, 100};
        many[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
    }
    done("recvmmsg", recvmmsg(server, many, 7, MSG_WAITFORONE, NULL), 7);
    for (int i = 0; i < 3; i++) {
        done("sendto", sendto(other, block, 50, 0, (void *)&address, length), 50);
        done("recvfrom", recvfrom(server, block, 100, 0, NULL, NULL), 50);
    }
    done("sendto", sendto(other, block, 2000, 0, (void *)&address, length), 2000);
    done("recv", recv(server, block, 100, MSG_TRUNC), 2000);
}

/* 3 datagrams of 2000, of which recvmsg and one recvmmsg receive 50 + 60, 10 and 10. */
static void cut(void) {
    int ends[2];
    struct iovec parts[2] = {{block, 50}, {block + 100, 60}}, small = {block, 10};
    struct msghdr one = {.msg_iov = parts, .msg_iovlen = 2};
    struct mmsghdr many[2] = {0};
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0)
        die("socketpair");
    for (int i = 0; i < 3; i++)
        done("send", send(ends[0], block, 2000, 0), 2000);
    done("recvmsg", recvmsg(ends[1], &one, MSG_TRUNC), 2000);
    for (int i = 0; i < 2; i++)
        many[i].msg_hdr = (struct msghdr){.msg_iov = &small, .msg_iovlen = 1};
    done("recvmmsg", recvmmsg(ends[1], many, 2, MSG_TRUNC, NULL), 2);
}

/* A unix socket with a name, 500 bytes: no network. */
static void local(void) {
    struct sockaddr_un address = {AF_UNIX, "named"};
    int server = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(server, (void *)&address, sizeof address) != 0 || listen(server, 1) != 0)
        die("bind");
    if (connect(client, (void *)&address, sizeof address) != 0)
        die("connect");
    int fd = accept(server, NULL, NULL);
    done("write", write(client, block, 500), 500);
    exactly("read", fd, 500);
}

static void up(int fd, const char *name) {
    struct ifreq request = {0};
    strcpy(request.ifr_name, name);
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    if (ioctl(fd, SIOCSIFFLAGS, &request) != 0)
        skip("interfaces");
}

/* A network of its own with one tunnel, from 192.0.2.1 to all of 192.0.2.0/24; what is sent there
 * is read from it. */
static int tunnel_away(void) {
    struct ifreq request = {0};
    struct sockaddr_in address = {.sin_family = AF_INET};
    if (unshare(CLONE_NEWNET) != 0)
        skip("a network namespace needs root");
    int tunnel = open("/dev/net/tun", O_RDWR), fd = socket(AF_INET, SOCK_DGRAM, 0);
    strcpy(request.ifr_name, "far0");
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    if (tunnel < 0 || ioctl(tunnel, TUNSETIFF, &request) != 0)
        skip("no tunnels");
    address.sin_addr.s_addr = inet_addr("192.0.2.1");
    memcpy(&request.ifr_addr, &address, sizeof address);
    if (ioctl(fd, SIOCSIFADDR, &request) != 0)
        skip("interfaces");
    address.sin_addr.s_addr = inet_addr("255.255.255.0");
    memcpy(&request.ifr_netmask, &address, sizeof address);
    ioctl(fd, SIOCSIFNETMASK, &request);
    up(fd, "far0");
    up(fd, "lo");
    close(fd);
    return tunnel;
}

/* 4 datagrams of 250 leave by the tunnel, one of 100 goes to the machine's own address there. */
static void far(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9)};
    tunnel_away();
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    address.sin_addr.s_addr = inet_addr("192.0.2.2");
    if (connect(fd, (void *)&address, sizeof address) != 0)
        die("connect");
    for (int i = 0; i < 4; i++)
        done("send", send(fd, block, 250, 0), 250);
    int own = socket(AF_INET, SOCK_DGRAM, 0);
    address.sin_addr.s_addr = inet_addr("192.0.2.1");
    if (connect(own, (void *)&address, sizeof address) != 0)
        die("connect");
    done("send", send(own, block, 100, 0), 100);
}

/* Bound to no address and connected to nobody. */
static int open_to_all(int family, struct sockaddr_storage *address, socklen_t *length) {
    int fd = socket(family, SOCK_DGRAM, 0);
    *length = loopback(family, address);
    struct sockaddr_storage any = {.ss_family = family};
    if (fd < 0 || bind(fd, (void *)&any, *length) != 0)
        skip("no network of this family");
    socklen_t bytes = sizeof any;
    getsockname(fd, (void *)&any, &bytes);
    /* The port is at the same place in both. */
    ((struct sockaddr_in *)address)->sin_port = ((struct sockaddr_in *)&any)->sin_port;
    return fd;
}

/* To `to`: 3 datagrams of 100 by sendto, 2 of 50 by sendmsg, 10 + 20 + 30 by one sendmmsg, 5 by
 * sendto: 465 bytes. */
static void send_each(int fd, struct sockaddr_storage *to, socklen_t length) {
    struct iovec small[3] = {{block, 10}, {block, 20}, {block, 30}}, fifty = {block, 50};
    struct mmsghdr many[3] = {0};
    struct msghdr one = {to, length, &fifty, 1, NULL, 0, 0};
    for (int i = 0; i < 3; i++)
        if (sendto(fd, block, 100, 0, (void *)to, length) != 100)
            skip("no way to this address");
    for (int i = 0; i < 2; i++)
        done("sendmsg", sendmsg(fd, &one, 0), 50);
    for (int i = 0; i < 3; i++)
        many[i].msg_hdr = (struct msghdr){to, length, &small[i], 1, NULL, 0, 0};
    done("sendmmsg", sendmmsg(fd, many, 3, 0), 3);
    done("sendto", sendto(fd, block, 5, 0, (void *)to, length), 5);
}

/* All of them: 2 of 100 by recvfrom and one by recv, 2 of 50 by recvmsg, 3 by recvmmsg, 5 by read.
 * Those by recv, read and the first recvmsg, 155 bytes, tell no address. */
static void receive_each(int fd) {
    struct sockaddr_storage from, names[3];
    socklen_t length;
    struct iovec parts[3], whole = {block, 100};
    struct mmsghdr many[3] = {0};
    struct msghdr one = {.msg_iov = &whole, .msg_iovlen = 1};
    for (int i = 0; i < 2; i++) {
        length = sizeof from;
        done("recvfrom", recvfrom(fd, block, 200, 0, (void *)&from, &length), 100);
        done("recvfrom", recvfrom(fd, block, 1, MSG_PEEK, (void *)&from, &length), 1);
    }
    done("recv", recv(fd, block, 200, 0), 100);
    done("recvmsg", recvmsg(fd, &one, 0), 50);
    one.msg_name = &from;
    one.msg_namelen = sizeof from;
    done("recvmsg", recvmsg(fd, &one, 0), 50);
    for (int i = 0; i < 3; i++) {
        parts[i] = (struct iovec){block, 100};
        many[i].msg_hdr = (struct msghdr){&names[i], sizeof names[i], &parts[i], 1, NULL, 0, 0};
    }
    done("recvmmsg", recvmmsg(fd, many, 3, 0, NULL), 3);
    done("read", read(fd, block, 100), 5);
}

/* Between two sockets that are connected to nobody, within the machine. */
static void each(int family) {
    struct sockaddr_storage address;
    socklen_t length;
    int server = open_to_all(family, &address, &length), client = socket(family, SOCK_DGRAM, 0);
    send_each(client, &address, length);
    receive_each(server);
}

static void each4(void) {
    each(AF_INET);
}

static void each6(void) {
    each(AF_INET6);
}

/* The same from a socket of IPv6 to ::ffff:127.0.0.1. */
static void mapped(void) {
    struct sockaddr_storage address;
    socklen_t length;
    int server = open_to_all(AF_INET6, &address, &length);
    int client = socket(AF_INET6, SOCK_DGRAM, 0);
    inet_pton(AF_INET6, "::ffff:127.0.0.1", &((struct sockaddr_in6 *)&address)->sin6_addr);
    send_each(client, &address, length);
    receive_each(server);
}

/* The same to an address of the machine that is not the loopback device's. */
static void own(void) {
    struct sockaddr_storage address;
    socklen_t length;
    struct ifaddrs *list, *it;
    int server = open_to_all(AF_INET, &address, &length), client = socket(AF_INET, SOCK_DGRAM, 0);
    if (getifaddrs(&list) != 0)
        die("getifaddrs");
    for (it = list; it; it = it->ifa_next)
        if (it->ifa_addr && it->ifa_addr->sa_family == AF_INET && it->ifa_flags & IFF_UP &&
            !(it->ifa_flags & IFF_LOOPBACK))
            break;
    if (!it)
        skip("no address but that of the loopback device");
    ((struct sockaddr_in *)&address)->sin_addr = ((struct sockaddr_in *)it->ifa_addr)->sin_addr;
    send_each(client, &address, length);
    receive_each(server);
}

/* To 192.0.2.99, which is somewhere else, from the network that the machine has anyway; nobody
 * receives it. */
static void elsewhere(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9)};
    int fd = socket(AF_INET, SOCK_DGRAM, 0), hops = 1;
    /* The first router ends it. */
    setsockopt(fd, IPPROTO_IP, IP_TTL, &hops, sizeof hops);
    address.sin_addr.s_addr = inet_addr("192.0.2.99");
    send_each(fd, (void *)&address, sizeof address);
}

static uint16_t checksum(const void *from, size_t bytes) {
    uint32_t sum = 0;
    for (size_t i = 0; i < bytes / 2; i++)
        sum += ((const uint16_t *)from)[i];
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return ~sum;
}

/* Through the tunnel: 11 bytes from 192.0.2.2 to a port of ours. */
static void come(int tunnel, in_port_t port) {
    struct {
        struct iphdr ip;
        struct udphdr udp;
        char bytes[12];
    } packet = {
        .ip = {.version = 4, .ihl = 5, .ttl = 9, .protocol = IPPROTO_UDP, .tot_len = htons(39)},
        .udp = {.source = htons(9), .dest = port, .len = htons(19)},
    };
    packet.ip.saddr = inet_addr("192.0.2.2");
    packet.ip.daddr = inet_addr("192.0.2.1");
    packet.ip.check = checksum(&packet.ip, sizeof packet.ip);
    done("packet", write(tunnel, &packet, 39), 39);
}

/* In a network of its own, from a socket that is connected to nobody: 465 bytes leave by the
 * tunnel, 465 go to the machine's own address there, which are received as always; one sendmmsg
 * sends 40 away, 41 to 127.0.0.1 and 42 to nobody in particular, which is the machine. 4 datagrams
 * of 11 come from elsewhere, of which recvmmsg gets the last 2 with the last 2 of the machine. */
static void apart(void) {
    struct sockaddr_storage names[4];
    struct sockaddr_in from;
    struct iovec sent[3] = {{block, 40}, {block, 41}, {block, 42}}, whole = {block, 100};
    struct mmsghdr many[4] = {0};
    socklen_t length, bytes = sizeof from;
    int tunnel = tunnel_away();
    struct sockaddr_storage address;
    int server = open_to_all(AF_INET, &address, &length), client = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in host = *(struct sockaddr_in *)&address, own = host, away = host;
    own.sin_addr.s_addr = inet_addr("192.0.2.1");
    away.sin_addr.s_addr = inet_addr("192.0.2.2");
    send_each(client, (void *)&away, sizeof away);
    send_each(client, (void *)&own, sizeof own);
    receive_each(server);
    come(tunnel, host.sin_port);
    done("recvfrom", recvfrom(server, block, 100, 0, (void *)&from, &bytes), 11);
    if (from.sin_addr.s_addr != away.sin_addr.s_addr)
        die("not from there");
    come(tunnel, host.sin_port);
    done("recv", recv(server, block, 100, 0), 11);
    struct sockaddr_in nobody = {.sin_family = AF_INET, .sin_port = host.sin_port};
    struct sockaddr_in *to[3] = {&away, &host, &nobody};
    for (int i = 0; i < 3; i++)
        many[i].msg_hdr = (struct msghdr){to[i], sizeof host, &sent[i], 1, NULL, 0, 0};
    done("sendmmsg", sendmmsg(client, many, 3, 0), 3);
    come(tunnel, host.sin_port);
    come(tunnel, host.sin_port);
    for (int i = 0; i < 4; i++)
        many[i].msg_hdr = (struct msghdr){&names[i], sizeof names[i], &whole, 1, NULL, 0, 0};
    done("recvmmsg", recvmmsg(server, many, 4, 0, NULL), 4);
}

/* One byte to the server and back, 200 times; then what this end knows of the connection is put
 * down, and it ends in one of four ways. */
static void ask(int way, struct sockaddr_storage *address, socklen_t length, int file) {
    int client = socket(AF_INET, SOCK_STREAM, 0);
    struct tcp_info info;
    socklen_t bytes = sizeof info;
    struct stat status;
    if (connect(client, (void *)address, length) != 0 || fstat(client, &status) != 0)
        die("connect");
    for (int i = 0; i < 200; i++) {
        done("write", write(client, block, 1), 1);
        done("read", read(client, block, 1), 1);
    }
    if (getsockopt(client, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0)
        die("TCP_INFO");
    dprintf(file, "%lu %u\n", (unsigned long)status.st_ino, info.tcpi_rtt);
    if (way == 0)
        close(client);
    if (way == 1)
        exit(0);
    if (way == 2)
        _exit(0);
    shutdown(client, SHUT_RDWR);
    raise(SIGKILL);
}

/* Four clients, one after another, end their connection by close, exit, _exit and shutdown. */
static void ending(void) {
    struct sockaddr_storage address;
    socklen_t length;
    int server = bound(AF_INET, SOCK_STREAM, &address, &length);
    int file = open("connections", O_WRONLY | O_CREAT | O_APPEND, 0644);
    listen(server, 1);
    for (int way = 0; way < 4; way++) {
        pid_t child = fork();
        if (child == 0)
            ask(way, &address, length, file);
        int fd = accept(server, NULL, NULL);
        while (read(fd, block, 1) == 1)
            done("write", write(fd, block, 1), 1);
        close(fd);
        waitpid(child, NULL, 0);
    }
}

/* A connection that its client resets before the server's only call on it. Prints the server's
 * port. */
static void reset(void) {
    struct sockaddr_storage address;
    struct linger at_once = {1, 0};
    socklen_t length;
    int server = bound(AF_INET, SOCK_STREAM, &address, &length);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    listen(server, 1);
    if (connect(client, (void *)&address, length) != 0)
        die("connect");
    int fd = accept(server, NULL, NULL);
    setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(client);
    if (recv(fd, block, 100, 0) != -1 || errno != ECONNRESET)
        die("recv");
    printf("port %d\n", ntohs(((struct sockaddr_in *)&address)->sin_port));
    fflush(stdout);
}

static const struct {
    const char *name;
    void (*run)(void);
} parts[] = {
    {"tcp", tcp}, {"tcp6", tcp6}, {"udp", udp}, {"each4", each4}, {"each6", each6},
    {"mapped", mapped}, {"own", own}, {"elsewhere", elsewhere}, {"apart", apart},
    {"local", local}, {"far", far}, {"ending", ending}, {"cut", cut}, {"reset", reset},
};

int main(int argc, char **argv) {
    if (chdir(word(argc, argv, 1)) != 0)
        die(argv[1]);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(parts[i].name, word(argc, argv, 2)) == 0) {
            parts[i].run();
            return 0;
        }
    die(argv[2]);
}
