import DeviceRegistrar
import Foundation
import TestSupport
import TestTraits
import Testing

// The examples of Documentation/Registrar.md. `GuideTextTests` compares the page with them.

@Suite(.waits) struct RegistrarGuideTests {
    private enum SetupError: Error { case notASecret }

    @Test func `The examples of the page work`() async throws {
        let scene = try await RegistrarScene()
        let (server, keyID, text) = (scene.server, scene.keyID, scene.secretText)
        let folder = URL(fileURLWithPath: scene.directory.path)
        let (deviceToken, callToken) = (Data(repeating: 7, count: 32), Data(repeating: 8, count: 32))

        guard let secret = KeySecret(text) else { throw SetupError.notASecret }
        let file = folder.appendingPathComponent("registrar.json")
        let configuration = RegistrarConfiguration(
            server: server, app: "shop", keyID: keyID, secret: secret, file: file)
        let registrar = try DeviceRegistrar(configuration)

        if let token = PushToken(deviceToken) {
            let profile = DeviceProfile(
                user: "ada", tags: ["vip"], locale: "de_AT", appVersion: "1.2")
            await registrar.register(token, profile: profile)
        }

        for await status in await registrar.statuses() {
            print(status)
            if case .registered(let device) = status {
                print("the id of this device is \(device)")
                break
            }
        }

        await registrar.displayed("8be8baca-4367-5f55-9acc-b3ec5a25533e")
        await registrar.opened("8be8baca-4367-5f55-9acc-b3ec5a25533e")
        await registrar.settle()
        #expect(await registrar.waitingReports == 0)

        await registrar.remove()
        await registrar.settle()
        #expect(await registrar.status == .unregistered)

        var shared = configuration
        shared.installation = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
        shared.file = folder.appendingPathComponent("installation.json")
        let phone = try DeviceRegistrar(shared)
        if let token = PushToken(deviceToken), let calls = PushToken(callToken) {
            await phone.register(token, profile: DeviceProfile(user: "ada"))
            await phone.register(calls, for: .voip)
        }
        await phone.settle()
        let list = try await ChildProcess.run(
            ChildProcess.carillon,
            [
                "devices", "list", "--installation", "7c9e6679-7425-40de-944b-e07fc1f90ae7", "--user", "ada", "--json",
                "--data", "\(scene.directory.path)/data",
            ]
        ).output
        #expect(list.split(separator: "\n").count == 2 && list.contains(#""kind":"voip""#), "\(list)")
    }
}
