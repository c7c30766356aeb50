import PushModel
import Testing

@testable import PushServer

@Suite struct NodeEndpointsTests {
    @Test(
        arguments: [
            ("tcp://10.0.0.1:5560", "10.0.0.9", "tcp://10.0.0.1:5560"),
            ("tcp://0.0.0.0:5560", "10.0.0.9", "tcp://10.0.0.9:5560"),
            ("tcp://[::]:5560", "fd00::9", "tcp://[fd00::9]:5560"),
            ("https://0.0.0.0:8470", "a.lan", "https://a.lan:8470"),
            ("tcp://0.0.0.0:5560", "0.0.0.0", nil), ("ipc:///run/router.sock", "10.0.0.9", nil), (nil, "10.0.0.9", nil),
        ] as [(String?, String, String?)])
    func `Addresses for producers have a host that other machines can use`(
        _ bound: String?, _ host: String, _ reachable: String?
    ) {
        let found = NodeEndpoints(boundRouter: bound, boundHTTP: bound, reachedAt: host)
        #expect(found.router == reachable && found.http == reachable)
    }

    @Test func `The hints name each live node with its addresses and partitions`() throws {
        let (a, b) = (try #require(NodeID("a")), try #require(NodeID("b")))
        let contact = NodeContact(address: "tcp://b:1", publicKey: "key")
        let table = OwnerTable(
            owners: [.this, .other(b, contact), .nobody, .this], members: [b: contact],
            endpoints: [
                b: NodeEndpoints(router: "tcp://b:2"), a: NodeEndpoints(router: "tcp://a:2", http: "http://a:3"),
            ])
        #expect(
            String(decoding: table.hints(of: a), as: UTF8.self) == #"{"node":"a","nodes":["#
                + #"{"http":"http://a:3","node":"a","parts":[0,3],"router":"tcp://a:2"},"#
                + #"{"node":"b","parts":[1],"router":"tcp://b:2"}],"partitions":4}"#)
    }
}
