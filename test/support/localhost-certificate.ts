/**
 * A certificate of `localhost` that vouches for itself, from 2020 to 2120, and its key, which protects nothing: only who is
 * told to trust it does.
 */
export const localhostCertificate = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQga/RnzQza5cNZym1W
KuVIWLO9TPoFapUsri3Vw3ER7AmhRANCAAQYRIu2tlE5mcM8YBa8TVJntrXILuXv
mv0+1SyNUiB+3jJqtTr+S1IqK11zzdAKZPS5OeWtuPzUpp+PYls0NS7H
-----END PRIVATE KEY-----
`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBYTCCAQegAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABBhEi7a2UTmZwzxg
FrxNUme2tcgu5e+a/T7VLI1SIH7eMmq1Ov5LUiorXXPN0Apk9Lk55a24/NSmn49i
WzQ1LsejSDBGMA8GA1UdEwEB/wQFMAMBAf8wFAYDVR0RBA0wC4IJbG9jYWxob3N0
MB0GA1UdDgQWBBT+Vc3rumA7hV/aHO3fn/Lyuk+lUzAKBggqhkjOPQQDAgNIADBF
AiA7Rm55USt9aaslvazBfKpVJhdyMxNLBTCsEO/cZ7XpjAIhAI7lkVg/7l9Z/cqV
zWK6BS8yG/0/mpSqHWcNiFVufORQ
-----END CERTIFICATE-----
`,
};
