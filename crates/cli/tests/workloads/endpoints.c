/* endpoints DIR [apart]: opens sockets of many kinds, in a network of its own if asked to, and
 * prints of each `FD STATE ENDS` (`-` for what nobody can tell), then `ready`; at the end of its
 * input it closes one end of a connection and prints `closed`.
 * Truth: what getsockname and getpeername say; skips where this system has no such network. */
#include "truth.h"
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

typedef struct sockaddr_storage storage;

static void apart(void) {
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    if (unshare(CLONE_NEWNET) != 0)
        skip("a network namespace needs root");
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (ioctl(fd, SIOCSIFFLAGS, &request) != 0)
        skip("interfaces");
    close(fd);
}

/* IPv4 within IPv6 is that. */
static void unmap(storage *end) {
    struct sockaddr_in6 *six = (void *)end;
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = six->sin6_port};
    if (end->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
        memcpy(&four.sin_addr, (char *)&six->sin6_addr + 12, 4);
        memcpy(end, &four, sizeof four);
    }
}

/* `:ADDRESS:PORT` */
static void append(char *text, const storage *end) {
    char address[INET6_ADDRSTRLEN];
    const struct sockaddr_in *four = (void *)end;
    const struct sockaddr_in6 *six = (void *)end;
    int is_four = end->ss_family == AF_INET;
    inet_ntop(end->ss_family, is_four ? (const void *)&four->sin_addr : &six->sin6_addr, address,
              sizeof address);
    /* The port is at the same place in both. */
    sprintf(text + strlen(text), is_four ? ":%s:%d" : ":[%s]:%d", address, ntohs(four->sin_port));
}

static void tell(int fd, const char *protocol, const char *state) {
    storage local = {0}, remote = {0};
    socklen_t length = sizeof local;
    char text[256] = "";
    if (getsockname(fd, (void *)&local, &length) != 0)
        die("getsockname");
    unmap(&local);
    remote.ss_family = local.ss_family;
    length = sizeof remote;
    if (getpeername(fd, (void *)&remote, &length) != 0 && errno != ENOTCONN)
        die("getpeername");
    unmap(&remote);
    append(text, &local);
    append(text, &remote);
    /* In brackets: IPv6. */
    printf("%d %s %s%s%s\n", fd, state, protocol, text[1] == '[' ? "6" : "", text);
}

/* A socket bound to a port of `address`. */
static int bound(int family, int type, const char *address, storage *end, socklen_t *length) {
    int fd = socket(family, type, 0);
    memset(end, 0, sizeof *end);
    end->ss_family = family;
    *length = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    void *at = family == AF_INET ? (void *)&((struct sockaddr_in *)end)->sin_addr
                                 : &((struct sockaddr_in6 *)end)->sin6_addr;
    if (fd < 0 || inet_pton(family, address, at) != 1 || bind(fd, (void *)end, *length) != 0)
        skip(address);
    getsockname(fd, (void *)end, length);
    return fd;
}

/* One that listens, and both ends of a connection, of which the one that asked for it is given. */
static int tcp(int family, const char *address) {
    storage end;
    socklen_t length;
    int server = bound(family, SOCK_STREAM, address, &end, &length);
    int client = socket(family, SOCK_STREAM, 0);
    if (listen(server, 1) != 0 || connect(client, (void *)&end, length) != 0)
        die("connect");
    int accepted = accept(server, NULL, NULL);
    tell(server, "tcp", "listen");
    tell(accepted, "tcp", "established");
    tell(client, "tcp", "established");
    return client;
}

static void udp(int family, const char *address) {
    storage end;
    socklen_t length;
    int server = bound(family, SOCK_DGRAM, address, &end, &length);
    int client = socket(family, SOCK_DGRAM, 0);
    if (connect(client, (void *)&end, length) != 0)
        die("connect");
    tell(server, "udp", "unconnected");
    tell(client, "udp", "established");
}

/* One that listens under a name, and both ends of a connection: who accepts it has that name. */
static void named(const char *name, size_t bytes, const char *shown) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = offsetof(struct sockaddr_un, sun_path) + bytes;
    memcpy(address.sun_path, name, bytes);
    int server = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(server, (void *)&address, length) != 0 || listen(server, 1) != 0 ||
        connect(client, (void *)&address, length) != 0)
        die("bind");
    printf("%d listen unix:%s\n", server, shown);
    printf("%d established unix:%s\n", accept(server, NULL, NULL), shown);
    printf("%d established unix:\n", client);
}

static void local(void) {
    char name[64] = "", shown[64];
    int ends[2], bytes = sprintf(name + 1, "plimsoll %d", getpid()) + 1;
    sprintf(shown, "@%s", name + 1);
    named(name, bytes, shown);
    named("a b", 4, "a b");
    named("new\nline", 9, "new\\nline");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
        die("socketpair");
    printf("%d established unix:\n%d established unix:\n", ends[0], ends[1]);
    printf("%d unconnected unix:\n", socket(AF_UNIX, SOCK_DGRAM, 0));
}

int main(int argc, char **argv) {
    if (chdir(word(argc, argv, 1)) != 0)
        die(argv[1]);
    if (argc > 2)
        apart();
    int client = tcp(AF_INET, "127.0.0.1");
    tcp(AF_INET6, "::1");
    tcp(AF_INET6, "::ffff:127.0.0.1");
    udp(AF_INET, "127.0.0.1");
    udp(AF_INET6, "::1");
    local();
    /* Of these there is no table, or they are in none. */
    printf("%d - -\n", socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
    printf("%d - -\n", socket(AF_INET, SOCK_STREAM, 0));
    printf("ready\n");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    close(client);
    printf("closed\n");
    fflush(stdout);
    for (;;)
        pause();
}
