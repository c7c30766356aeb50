import PushModel
import ServerTestSupport
import TestTraits
import Testing

@testable import PushAPI

/// The apps among whose events a change by an operator is: those that it concerns, and no others.
@Suite(.waits) struct OperatorAppsTests {
    private static let token = PipelineScene.token(1).hex

    private static func devices(_ apps: String...) -> String {
        let list = apps.enumerated().map { number, app in
            #"{"app":"\#(app)","token":"\#(PipelineScene.token(UInt8(number + 1)).hex)","user":"ada"}"#
        }
        return #"{"devices":[\#(list.joined(separator: ","))]}"#
    }

    @Test func `Devices that are refused leave no event`() async throws {
        try await StoreScene.run { scene in
            func register(_ body: String, apps: String?, status: Int = 200) async throws -> [OperatorChange] {
                try await scene.changes("POST", "/v1/devices", body, apps: apps, status: status)
            }
            // One of another app, of an app that there is not, and with a fault.
            let bad = [Self.devices("news"), Self.devices("invented"), #"{"devices":[{"app":"shop"},{}]}"#]
            for body in bad {
                let changes = try await register(body, apps: "shop")
                #expect(changes == [], "\(body)")
            }
            #expect(try await register(Self.devices("invented"), apps: nil) == [])
            let one = #"{"app":"news","token":"\#(Self.token)"}"#
            #expect(try await register(one, apps: "shop", status: 403) == [])
            #expect(
                try await register(Self.devices("shop", "news", "invented"), apps: "shop") == [
                    OperatorChange(
                        .operatorDevicesImport, app: StoreScene.shop, of: "1 devices", after: "1 registered")
                ])
            // Each app has its own part.
            #expect(
                try await register(Self.devices("shop", "news", "invented", "shop"), apps: "shop,news") == [
                    OperatorChange(
                        .operatorDevicesImport, app: StoreScene.news, of: "1 devices", after: "1 registered"),
                    OperatorChange(
                        .operatorDevicesImport, app: StoreScene.shop, of: "2 devices",
                        after: "1 known, 1 registered"),
                ])
        }
    }

    @Test func `A token of an app that there is not leaves no event`() async throws {
        try await StoreScene.run { scene in
            let body = #"{"token":"\#(Self.token)"}"#
            #expect(try await scene.changes("POST", "/v1/apps/invented/devices/remove", body) == [])
            let known = try await scene.changes("POST", "/v1/apps/shop/devices/remove", body)
            #expect(known.map(\.app) == [StoreScene.shop] && known.map(\.before) == ["unknown"])
        }
    }

    @Test func `What is read and erased of a user is recorded in the apps of the key`() async throws {
        try await StoreScene.run { scene in
            func changes(_ method: String, _ query: String = "", apps: String?) async throws -> [OperatorChange] {
                _ = try await scene.send(
                    "POST", "/v1/devices", Self.devices("shop", "news"), roles: "register,operate")
                await scene.accept("\(method)-\(apps?.utf8.count ?? 0)-\(query.utf8.count)", for: "ada")
                return try await scene.changes(method, "/v1/users/ada" + query, apps: apps)
            }
            for (method, kind) in [("GET", EventKind.operatorUserExport), ("DELETE", .operatorUserErase)] {
                let one = try await changes(method, apps: "shop")
                #expect(one.map(\.kind) == [kind] && one.map(\.app) == [StoreScene.shop])
                #expect(one[0].what?.contains(" devices, ") == true)
                let many = try await changes(method, apps: "shop,news")
                #expect(many.map(\.app) == [StoreScene.shop, StoreScene.news])
                #expect(many.map(\.what) == ["a user in 2 apps", "a user in 2 apps"])
                #expect(try await changes(method, "?app=shop", apps: "shop,news").map(\.app) == [StoreScene.shop])
                #expect(try await changes(method, apps: nil).map(\.app) == [nil])
            }
        }
    }

    private struct Cluster: ClusterSource {
        func cluster() async -> ClusterView? { ClusterView(at: 0, node: "a") }
    }

    @Test func `The cluster is not for keys of some apps`() async {
        let endpoint = GetCluster(source: Cluster())
        var read = InputReader()
        let nothing = NoInput(&read)
        let limited = await endpoint.answer(nothing, for: .tester("shop", roles: [.observe], apps: [StoreScene.shop]))
        #expect(limited.body == ClusterAnswer(cluster: nil))
        for caller in [Caller.tester("all", roles: [.observe]), .local] {
            #expect(await endpoint.answer(nothing, for: caller).body.cluster?.node == "a")
        }
    }
}
