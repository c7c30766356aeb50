import PushGateways
import PushModel
import Testing

@Suite struct AddressCheckTests {
    @Test(
        "Addresses of the internet are allowed",
        arguments: [
            "8.8.8.8", "1.0.0.1", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1", "169.253.1.1",
            "192.0.1.1", "192.167.1.1", "198.17.1.1", "198.20.0.1", "223.255.255.255", "2606:4700::1111",
            "2a00:1450:4001::5", "2001:4860:4860::8888", "64:ff9b::808:808", "2002:808:808::1", "::ffff:8.8.8.8",
        ])
    func publicAddresses(_ address: String) {
        #expect(AddressCheck(exceptions: []).allows([address]))
    }

    @Test(
        "Private and special addresses are not allowed, in any form",
        arguments: [
            "127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "172.16.0.1",
            "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1", "100.127.255.255", "192.0.0.8",
            "192.0.2.1", "198.51.100.7", "203.0.113.9", "198.18.0.1", "198.19.255.255", "192.88.99.1", "224.0.0.1",
            "239.255.255.255", "240.0.0.1", "255.255.255.255", "::", "::1", "::10.0.0.1", "::ffff:10.0.0.1",
            "::ffff:127.0.0.1", "::ffff:0:10.0.0.1", "fe80::1", "fe80::1%eth0", "febf::1", "fec0::1", "fc00::1",
            "fd00:ec2::254", "ff02::1", "100::1", "2001:db8::1", "3fff::1", "2001::1", "2001:2::1", "64:ff9b::a00:1",
            "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "2002:a00:1::1", "2002:7f00:1::",
            "2002:c0a8:101::1", "5f00::1", "4000::1", "not an address", "",
        ])
    func specialAddresses(_ address: String) {
        #expect(!AddressCheck(exceptions: []).allows([address]))
    }

    @Test("One private address refuses a name")
    func mixed() {
        let check = AddressCheck(exceptions: [])
        #expect(check.allows(["8.8.8.8", "2606:4700::1111"]))
        #expect(!check.allows(["8.8.8.8", "10.0.0.1"]))
        #expect(!check.allows(["::1", "8.8.8.8"]))
    }

    @Test("Private networks of the settings are allowed, and nothing else of their kind")
    func exceptions() throws {
        let check = AddressCheck(exceptions: [try AddressRange("10.1.0.0/16"), try AddressRange("fd00:1::/32")])
        #expect(check.allows(["10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::a01:203", "fd00:1::5"]))
        #expect(!check.allows(["10.2.0.1"]))
        #expect(!check.allows(["fd00:2::5"]))
    }
}
