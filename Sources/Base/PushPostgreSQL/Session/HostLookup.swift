import Glibc

/// The addresses of all hosts of a session, in the order of the hosts.
struct HostLookup: Sendable {
    private(set) var targets: [PostgreSQLTarget] = []
    private(set) var faults: [String] = []

    /// The maximum number of addresses of one host that are tried.
    private static let maxAddresses = 8

    init(_ hosts: [PostgreSQLHost], resolver: PostgreSQLSession.Resolver) async {
        for host in hosts {
            if host.isSocketDirectory {
                targets.append(PostgreSQLTarget(host: host, address: nil))
            } else if Self.isNumeric(host.name) {
                targets.append(PostgreSQLTarget(host: host, address: host.name))
            } else {
                do {
                    let addresses = try await resolver(host)
                    if addresses.isEmpty { faults.append("cannot look up \(host.name): the name has no address") }
                    targets += addresses.prefix(Self.maxAddresses).map { PostgreSQLTarget(host: host, address: $0) }
                } catch {
                    faults.append("\(error)")
                }
            }
        }
    }

    static func isNumeric(_ name: String) -> Bool {
        var four = in_addr()
        var six = in6_addr()
        return unsafe inet_pton(AF_INET, name, &four) == 1 || inet_pton(AF_INET6, name, &six) == 1
    }
}
